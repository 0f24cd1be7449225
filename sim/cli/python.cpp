#include "sim/cli/python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>

extern char** environ;

namespace gradrace {

namespace fs = std::filesystem;

namespace {

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path share_folder() { return program_folder().parent_path() / "share" / "gradrace"; }

bool is_installed() { return fs::exists(share_folder() / "analysis"); }

/// The interpreter that set-up made, and where it may be another one, that.
struct Interpreter {
  std::string program;  // a path, or a name on the PATH
  bool made = false;
};

Interpreter interpreter() {
  const char* const named = std::getenv("GRADRACE_PYTHON");
  if (named != nullptr && *named != '\0') return {named};
  const fs::path made = home() / ".venv" / "bin" / "python";
  if (is_installed() && !fs::exists(made)) return {"python3"};
  return {made.string(), true};
}

/// The exit status; std::runtime_error where it cannot be run.
int spawn(std::vector<std::string> words, bool silent) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (silent) posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error(words.front() + ": cannot be run: " + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cerr << "gradrace: its Python was ended by a signal: " << strsignal(WTERMSIG(status))
            << '\n';
  return 1;
}

/// Not from the working folder.
constexpr std::string_view import_packages =
    "import sys; sys.path = [place for place in sys.path if place]; "
    "import jinja2, matplotlib, pandas, plotly, pyarrow, scipy";

}  // namespace

fs::path home() {
  return is_installed() ? share_folder() : program_folder().parent_path().parent_path();
}

void check_python() {
  const Interpreter python = interpreter();
  if (python.made && !fs::exists(python.program))
    throw std::runtime_error(python.program + ": not there; ./setup.sh installs what plots need");
  if (python.made || spawn({python.program, "-c", std::string(import_packages)}, true) == 0) return;
  throw std::runtime_error(python.program +
                           ": lacks Python packages that plots need; python3 -m venv DIR && "
                           "DIR/bin/pip install -r " +
                           (home() / "analysis" / "requirements.txt").string() +
                           " installs them, and GRADRACE_PYTHON=DIR/bin/python names that Python");
}

int run_python(const std::string& script, std::vector<std::string> words) {
  check_python();
  const std::string guarded = (home() / "analysis" / "guarded.py").string();
  words.insert(words.begin(), {interpreter().program, guarded, script});
  std::cout << std::flush;
  return spawn(std::move(words), false);
}

}  // namespace gradrace
