# Run at every build: writes version.h anew when the git revision, or whether the tree is dirty, has changed.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
                OUTPUT_VARIABLE CHANGES ERROR_QUIET)
if(NOT REVISION)
  set(REVISION unknown)
endif()
set(DIRTY false)
if(CHANGES)
  set(DIRTY true)
endif()
configure_file(${SOURCE}/sim/cli/version.h.in ${OUTPUT} @ONLY)
