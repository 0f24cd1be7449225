#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gradrace {

/// The folder with analysis/ and scenarios/: ../share/gradrace of an installed program, the project
/// of one that was built there (build/release/gradrace).
std::filesystem::path home();

/// The Python that check_python() looks at: a path, or a name on the PATH.
std::string python_program();

/// Throws std::runtime_error where home() has no analysis/, or there is no Python with the packages
/// of the plots: that of GRADRACE_PYTHON, else home()'s .venv, else, for an installed program,
/// python3 on the PATH.
void check_python();

/// A signal that ends a program, to one that waits for a script, ends both, or is handed on to the
/// script, which ends by itself.
enum class OnSignal { end_both, hand_on };

/// Runs analysis/<script> with these words; its exit status.  Throws as check_python does.
int run_python(const std::string& script, std::vector<std::string> words,
               OnSignal on_signal = OnSignal::end_both);

/// What analysis/<script> with these words prints; none where there is no such Python, it fails, or
/// does not end within so many seconds.
std::optional<std::string> ask_python(const std::string& script, std::vector<std::string> words,
                                      double seconds);

}  // namespace gradrace
