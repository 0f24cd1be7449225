#!/usr/bin/env bash
# Makes a machine ready for gradrace: build tools and libraries, the Python environment of the
# plots, on demand the release build. Silent and quick when nothing is to be done.
set -euo pipefail

readonly CMAKE_WANTED=3.25
readonly SOURCES=(sim distributions protocols compression models analysis CMakeLists.txt CMakePresets.json)

usage() {
  cat <<'USAGE'
usage: ./setup.sh [--require-plots | --no-retry] [--browser] [--valgrind] [--slurm]
                  [--formatters] [--build [TARGET]]
  --require-plots  fail where the Python environment of the plots (.venv) cannot be made
  --no-retry       do not try again to make it within an hour of a failure
  --browser        install a headless Chromium, for the tests of the pages, where that is possible
  --valgrind       install valgrind, for the test of instruction counts, where that is possible
  --slurm          install Slurm (munge too), GNU parallel and Snakemake, for the tests of scripts/
  --formatters     install clang-format and ruff into build/formatters, for the test of style
  --build          then build preset release: TARGET, or everything
USAGE
}

say() { printf 'gradrace: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

# Shows the end of a log: show_log FILE.
show_log() { tail -n 40 "$1" | sed 's/^/  | /' >&2; }

# ---- packages: each is looked for by what it brings, so that it may come from anywhere

# The prefixes in which CMake looks too.
prefixes() {
  local -a from_cmake from_path
  IFS=: read -ra from_cmake <<<"${CMAKE_PREFIX_PATH:-}"
  IFS=: read -ra from_path <<<"$PATH"
  printf '%s\n' "${from_cmake[@]}" "${from_path[@]%/*bin}" /usr /usr/local
}

has_program() { # has_program NAME...: one of them
  local name
  for name in "$@"; do
    if command -v "$name" >/dev/null; then return 0; fi
  done
  return 1
}

has_header() { # has_header PATH...: one of them
  local prefix header
  for prefix in "${PREFIXES[@]}"; do
    for header in "$@"; do
      if compgen -G "$prefix/include/$header" >/dev/null ||
        compgen -G "$prefix/include/*-linux-gnu/$header" >/dev/null; then return 0; fi
    done
  done
  return 1
}

has_library() { # has_library NAME: what the linker takes, not a versioned .so.1 alone
  local prefix end
  for prefix in "${PREFIXES[@]}"; do
    for end in so a; do
      if compgen -G "$prefix/lib*/$1.$end" >/dev/null ||
        compgen -G "$prefix/lib/*-linux-gnu/$1.$end" >/dev/null; then return 0; fi
    done
  done
  return 1
}

has_compiler() { has_program "${CXX:-g++}" c++ clang++; }

has_cmake() {
  local version
  has_program cmake || return 1
  version=$(cmake --version | sed -n '1s/.*version //p')
  printf '%s\n' "$CMAKE_WANTED" "$version" | sort -C -V
}

has_certificates() {
  [[ -n ${SSL_CERT_FILE:-} || -e /etc/ssl/certs/ca-certificates.crt ||
    -e /etc/pki/tls/certs/ca-bundle.crt || -e /etc/ssl/ca-bundle.pem || -e /etc/ssl/cert.pem ]]
}

# Prints a Python of 3.11 or newer that can make virtual environments.
venv_python() {
  local python
  for python in /usr/bin/python3 python3; do
    if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
      >/dev/null 2>&1; then
      command -v "$python"
      return 0
    fi
  done
  return 1
}

# Prints the missing packages, one a line, under their Debian names.
missing_packages() {
  local -a PREFIXES
  mapfile -t PREFIXES < <(prefixes | awk 'NF && !seen[$0]++')
  has_compiler || echo g++
  has_cmake || echo cmake
  has_program ninja ninja-build || echo ninja-build
  has_program git || echo git
  has_program python3 || echo python3
  plots_ready || venv_python >/dev/null || echo python3-venv
  has_certificates || echo ca-certificates
  has_header boost/version.hpp || echo libboost-dev
  has_library libboost_program_options || echo libboost-program-options-dev
  has_header Eigen/Core eigen3/Eigen/Core || echo libeigen3-dev
  has_header nlohmann/json.hpp || echo nlohmann-json3-dev
  has_header Random123/philox.h || echo librandom123-dev
  has_header doctest/doctest.h || echo doctest-dev
  has_header benchmark/benchmark.h || echo libbenchmark-dev
  has_header zlib.h || echo zlib1g-dev
  has_header libdeflate.h || echo libdeflate-dev
  has_header zstd.h || echo libzstd-dev
}

apt_install() { # apt_install LOG PACKAGE...
  local log=$1 status=0
  local -a as_root=()
  shift
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update >"$log" 2>&1 || status=$?
  # A broken source of the machine's own need not concern these packages: the install decides.
  ((status == 0)) || say "apt-get update ended with $status; trying to install all the same"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends "$@" >>"$log" 2>&1
}

may_install() {
  ((EUID == 0)) || { has_program sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; }
}

# The one command that installs the packages: command_for PACKAGE...
command_for() {
  local apt="apt-get update && apt-get install -y --no-install-recommends $*"
  if has_program sudo; then echo "sudo sh -c '$apt'"; else echo "su -c '$apt'"; fi
}

no_cmake_here() {
  say "this system's newest cmake is older than $CMAKE_WANTED, which gradrace needs;" \
    "put a newer one first in PATH (https://cmake.org/download, or: pipx install cmake)"
}

install_packages() {
  local -a missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  if ! has_program apt-get; then
    die "missing here, by their Debian names: ${missing[*]} (cmake $CMAKE_WANTED or newer," \
      "Python 3.11 or newer with venv); install them with this system's own tools, then start again"
  fi
  if ! may_install; then
    say "missing packages: ${missing[*]}"
    say "installing them needs root; type this, then start again:"
    printf '  %s\n' "$(command_for "${missing[@]}")" >&2
    exit 1
  fi
  say "installing ${missing[*]} (this can take some minutes)"
  if ! apt_install build/packages.log "${missing[@]}"; then
    show_log build/packages.log
    die "apt-get could not install the packages; the full log is build/packages.log"
  fi
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  [[ " ${missing[*]} " != *" cmake "* ]] || no_cmake_here
  die "still missing or too old after installing: ${missing[*]}"
}

# ---- plots: .venv, valid only with a stamp that names its requirements and its Python

plots_stamp() { echo "$(sha256sum <analysis/requirements.txt) $(readlink -f .venv/bin/python)"; }

plots_ready() {
  [[ -x .venv/bin/python && -f .venv/stamp ]] && [[ $(<.venv/stamp) == "$(plots_stamp)" ]]
}

# There, or not worth another wait for a dead network.
plots_settled() {
  plots_ready || { [[ $PLOTS == no-retry ]] && [[ -n $(find build/no-plots -mmin -60 2>/dev/null) ]]; }
}

make_plots() { # make_plots LOG
  local python
  python=$(venv_python)
  rm -rf .venv
  "$python" -m venv .venv >"$1" 2>&1 || return 1
  # The requirements name everything, so nothing else may come along.
  .venv/bin/python -m pip install --disable-pip-version-check --no-deps --only-binary :all: \
    --retries 2 -r analysis/requirements.txt >>"$1" 2>&1 || return 1
  # Also builds matplotlib's font cache, which the first plot would wait for.
  .venv/bin/python -c 'import matplotlib.font_manager' >>"$1" 2>&1 || return 1
  plots_stamp >.venv/stamp
}

prepare_plots() {
  if plots_settled; then return 0; fi
  say "making the Python environment of the plots (.venv)"
  if make_plots build/plots.log; then
    rm -f build/no-plots
    return 0
  fi
  rm -rf .venv
  touch build/no-plots
  tail -n 1 build/plots.log | sed 's/^/  | /' >&2
  say "plots are not available: pip could not install analysis/requirements.txt (see build/plots.log)." \
    "It needs a package index: connect this machine, or name yours in PIP_INDEX_URL or PIP_FIND_LINKS," \
    "then run ./setup.sh. Building and running work without plots; this is tried again after an hour, or with --plot."
  [[ $PLOTS != required ]]
}

# ---- for tests alone, which are skipped without it

readonly BROWSERS=(chromium-headless-shell chromium google-chrome)

extra_settled() { # extra_settled WANTED NAME PROGRAM...: one of them is there, or not worth another try
  local wanted=$1 name=$2
  shift 2
  ((! wanted)) || has_program "$@" || [[ -n $(find "build/no-$name" -mmin -60 2>/dev/null) ]]
}

prepare_extra() { # prepare_extra WANTED NAME PACKAGE TESTS PROGRAM...
  local wanted=$1 name=$2 package=$3 tests=$4
  shift 4
  if extra_settled "$wanted" "$name" "$@"; then return 0; fi
  if has_program apt-get && may_install; then
    say "installing $package, for $tests"
    if apt_install "build/$name.log" "$package"; then return 0; fi
    tail -n 1 "build/$name.log" | sed 's/^/  | /' >&2
  fi
  touch "build/no-$name"
  say "there is no $name (one of $*): $tests will be skipped"
}

extras_settled() {
  extra_settled "$BROWSER" browser "${BROWSERS[@]}" && extra_settled "$VALGRIND" valgrind valgrind &&
    extra_settled "$SLURM" slurm slurmctld && extra_settled "$SLURM" parallel parallel &&
    extra_settled "$SLURM" snakemake snakemake &&
    extra_settled "$FORMATTERS" formatters build/formatters/bin/ruff
}

prepare_formatters() {
  if extra_settled "$FORMATTERS" formatters build/formatters/bin/ruff; then return 0; fi
  say "installing clang-format and ruff (build/formatters), for the test of style"
  if { "$(venv_python)" -m venv build/formatters &&
    build/formatters/bin/python -m pip install --disable-pip-version-check --no-deps --only-binary :all: \
      --retries 2 -r tests/requirements.txt; } >build/formatters.log 2>&1; then return 0; fi
  rm -rf build/formatters
  touch build/no-formatters
  say "pip could not install tests/requirements.txt (see build/formatters.log): the test of style will be skipped"
}

prepare_extras() {
  prepare_extra "$BROWSER" browser chromium-headless-shell "the tests of the pages" "${BROWSERS[@]}"
  prepare_extra "$VALGRIND" valgrind valgrind "the test of instruction counts" valgrind
  prepare_extra "$SLURM" slurm slurm-wlm "the test of sweeps on Slurm" slurmctld
  prepare_extra "$SLURM" parallel parallel "the test of sweeps by GNU parallel" parallel
  prepare_extra "$SLURM" snakemake snakemake "the test of sweeps by Snakemake" snakemake
  prepare_formatters
}

# What nothing is built with.
prepare_beside() {
  local status=0
  prepare_plots || status=$?
  prepare_extras
  return "$status"
}

# ---- build

# A build tree of this folder (a moved or copied one belongs to another).
is_configured() {
  [[ -f build/release/build.ninja ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" build/release/CMakeCache.txt
}

# The stamp is as old as the start of the last good build; a commit changes --version.
is_built() { # is_built TARGET
  local stamp=build/release/built-$1
  [[ -f $stamp && -x build/release/$1 ]] && is_configured &&
    [[ -z $(find "${SOURCES[@]}" .git/logs/HEAD -name __pycache__ -prune -o \
      -newer "$stamp" -print -quit 2>/dev/null) ]]
}

# One compiler for each core, and 2 GiB for each compiler.
build_jobs() {
  local cores free limit used jobs
  cores=$(nproc)
  free=$(($(awk '/^MemAvailable:/ {print $2}' /proc/meminfo) << 10))
  if { limit=$(</sys/fs/cgroup/memory.max) && used=$(</sys/fs/cgroup/memory.current); } 2>/dev/null &&
    [[ $limit != max ]] && ((limit - used < free)); then
    free=$((limit - used))
  fi
  jobs=$((free / (2 << 30)))
  ((jobs < cores)) || jobs=$cores
  ((jobs > 0)) || jobs=1
  echo "$jobs"
}

show_progress() {
  local line
  if [[ ! -t 2 ]]; then
    cat >/dev/null
    return
  fi
  while IFS= read -r line; do
    [[ $line != "["*"] "* ]] || printf '\r  %s' "${line%%]*}]" >&2
  done
  printf '\r\033[K' >&2
}

# What to do where it was nvcc that failed: tell_of_nvcc LOG.
tell_of_nvcc() {
  if grep -qE '^CMake Error.*CUDA' "$1" || grep -A1 '^FAILED: ' "$1" | grep -qw nvcc; then
    say "nvcc failed; without it everything is built but the CUDA device." \
      "Type this once, then start again: cmake --preset release -DGRADRACE_CUDA=OFF"
  fi
}

configure() {
  if is_configured; then return 0; fi
  if ! cmake --preset release --fresh >build/configure.log 2>&1; then
    show_log build/configure.log
    tell_of_nvcc build/configure.log
    die "cmake could not configure the build; the full log is build/configure.log"
  fi
}

build() { # build TARGET
  local stamp=build/release/built-$1
  configure
  if [[ -f $stamp ]]; then
    say "building ($1)..."
  else
    say "building ($1; the first time takes some minutes; build/build.log says how far it is)..."
  fi
  touch build/build-start
  if ! cmake --build --preset release --target "$1" --parallel "$(build_jobs)" 2>&1 |
    tee build/build.log | show_progress; then
    show_log build/build.log
    tell_of_nvcc build/build.log
    die "the build failed; the full log is build/build.log"
  fi
  mv build/build-start "$stamp"
}

# ---- one set-up at a time in a folder

take_turn() {
  mkdir -p build 2>/dev/null && [[ -w build ]] || die "this folder may not be written to; use a copy of it"
  exec 9>>build/setup.lock # what a link leads to keeps its content
  if ! flock -n 9; then
    say "waiting for another set-up in this folder"
    flock 9
  fi
}

main() {
  local target=""
  PLOTS=try # or required, or no-retry
  BROWSER=0
  VALGRIND=0
  SLURM=0
  FORMATTERS=0
  while (($#)); do
    case $1 in
      --require-plots) PLOTS=required ;;
      --no-retry) PLOTS=no-retry ;;
      --browser) BROWSER=1 ;;
      --valgrind) VALGRIND=1 ;;
      --slurm) SLURM=1 ;;
      --formatters) FORMATTERS=1 ;;
      --build)
        target=all
        if (($# > 1)) && [[ $2 != -* ]]; then
          target=$2
          shift
        fi
        ;;
      --help | -h) usage && exit 0 ;;
      *) usage >&2 && exit 2 ;;
    esac
    shift
  done
  cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
  if [[ -n $target ]] && is_built "$target" && plots_settled && extras_settled; then exit 0; fi
  take_turn
  install_packages
  prepare_beside & # waits for downloads, most of the time
  local beside=$!
  if [[ -n $target ]] && ! is_built "$target"; then build "$target"; fi
  wait "$beside"
}

main "$@"
