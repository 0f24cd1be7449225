#include "sim/cli/python.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cstring>
#include <iostream>
#include <stdexcept>

extern char** environ;

namespace gradrace {

namespace {

std::filesystem::path python_path() { return home() / ".venv" / "bin" / "python"; }

}  // namespace

std::filesystem::path home() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
}

void check_python() {
  const auto python = python_path();
  if (std::filesystem::exists(python)) return;
  throw std::runtime_error(python.string() + ": not there; ./setup.sh installs what plots need");
}

int run_python(const std::string& script, std::vector<std::string> words) {
  check_python();
  const auto python = python_path();
  words.insert(words.begin(), {python.string(), (home() / "analysis" / script).string()});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::cout << std::flush;
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
