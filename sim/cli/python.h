#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gradrace {

/// The project's folder: two above the program's (build/release/gradrace).
std::filesystem::path home();

/// Throws std::runtime_error where the Python environment of the plots is not there.
void check_python();

/// Runs analysis/<script> with these words; its exit status.  Throws as check_python does.
int run_python(const std::string& script, std::vector<std::string> words);

}  // namespace gradrace
