#pragma once

#include <filesystem>
#include <string>

namespace gradrace {

/// Notes that the running test cannot be done here and why; the program then ends with 77, which
/// ctest shows as "Skipped".
void note_skip(const std::string& reason);

/// Whether GRADRACE_LONG asks for the long form of what takes minutes (tests/README.md).
bool is_long_form();

/// The folder of a data set under GRADRACE_DATA; empty if it is not there, or that is empty.
std::filesystem::path data_folder(const std::string& name);

}  // namespace gradrace

/// Leaves the test case.
#define GRADRACE_SKIP(reason)      \
  do {                             \
    ::gradrace::note_skip(reason); \
    return;                        \
  } while (false)

/// Skips the test case unless GRADRACE_DATA has the folder.
#define GRADRACE_NEEDS_DATA(name)            \
  if (::gradrace::data_folder(name).empty()) \
  GRADRACE_SKIP(std::string("GRADRACE_DATA names no folder with a ") + (name) + " in it")
