#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>

#include "sim/cli/commands.h"
#include "sim/cli/usage_error.h"

extern char** environ;

namespace gradrace {

namespace {

/// The project's folder: two above the program's (build/release/gradrace).
std::filesystem::path home() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
}

}  // namespace

int plot_command(const std::vector<std::filesystem::path>& folders) {
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder / "runs.csv") &&
        !std::filesystem::exists(folder / "fit.json")) {
      throw UsageError(
          folder.string() +
          ": holds no runs.csv and no fit.json; give the output folder of a run or fit");
    }
  }
  const auto python = home() / ".venv" / "bin" / "python";
  const auto script = home() / "analysis" / "plot.py";
  if (!std::filesystem::exists(python)) {
    throw std::runtime_error(python.string() + ": not there; ./setup.sh installs what plots need");
  }
  std::vector<std::string> words{python.string(), script.string()};
  for (const auto& folder : folders) words.push_back(folder.string());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, python.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0)
    throw std::runtime_error(python.string() + ": cannot be run: " + std::strerror(error));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace gradrace
