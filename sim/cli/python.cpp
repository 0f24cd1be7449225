#include "sim/cli/python.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

extern char** environ;

namespace gradrace {

namespace fs = std::filesystem;

namespace {

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path share_folder() { return program_folder().parent_path() / "share" / "gradrace"; }

bool is_installed() { return fs::exists(share_folder() / "analysis"); }

using Words = std::vector<std::string>;

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

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void silence_stderr() {
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  void send_stdout_to(int descriptor) {
    posix_spawn_file_actions_adddup2(&actions_, descriptor, STDOUT_FILENO);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// The child; std::runtime_error where it cannot be run.
pid_t spawn(std::vector<std::string> words, const FileActions& actions) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments.front(), actions.get(), nullptr, arguments.data(), environ);
  if (error != 0)
    throw std::runtime_error(words.front() + ": cannot be run: " + std::strerror(error));
  return child;
}

/// The exit status; 1 where a signal ended it, which is told.
int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cerr << "gradrace: its Python was ended by a signal: " << strsignal(WTERMSIG(status))
            << '\n';
  return 1;
}

volatile std::sig_atomic_t handed_to = 0;  // a process

extern "C" void hand_on(int signal) { ::kill(handed_to, signal); }

/// While it lives, a process gets the signals that would end this one, but for those that the
/// caller has it ignore.
class HandingOn {
 public:
  explicit HandingOn(pid_t child) {
    handed_to = child;
    for (auto& [signal, before] : before_) {
      before = std::signal(signal, hand_on);
      if (before == SIG_IGN) std::signal(signal, SIG_IGN);
    }
  }
  ~HandingOn() {
    for (const auto& [signal, before] : before_) std::signal(signal, before);
  }
  HandingOn(const HandingOn&) = delete;
  HandingOn& operator=(const HandingOn&) = delete;

 private:
  std::map<int, void (*)(int)> before_{
      {SIGINT, nullptr}, {SIGTERM, nullptr}, {SIGHUP, nullptr}, {SIGQUIT, nullptr}};
};

using Clock = std::chrono::steady_clock;

/// All that comes until the other end is closed; none where that is later.
std::optional<std::string> read_until(int descriptor, Clock::time_point deadline) {
  std::string text;
  for (char piece[4096];;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd pipe{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? ::poll(&pipe, 1, static_cast<int>(left)) : 0;
    if (ready == 0) return {};
    if (ready < 0 && errno != EINTR) return {};
    if (ready < 0) continue;
    const ssize_t count = ::read(descriptor, piece, sizeof piece);
    if (count == 0) return text;
    if (count > 0) text.append(piece, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return {};
  }
}

Words script_words(const std::string& script, Words words) {
  const std::string guarded = (home() / "analysis" / "guarded.py").string();
  words.insert(words.begin(), {interpreter().program, guarded, script});
  return words;
}

/// Not from the working folder.
constexpr std::string_view import_packages =
    "import sys; sys.path = [place for place in sys.path if place]; "
    "import jinja2, matplotlib, pandas, plotly, pyarrow, scipy";

}  // namespace

fs::path home() {
  return is_installed() ? share_folder() : program_folder().parent_path().parent_path();
}

std::string python_program() { return interpreter().program; }

void check_python() {
  if (!fs::exists(home() / "analysis"))
    throw std::runtime_error("analysis/ is not beside the program: neither " +
                             (home() / "analysis").string() + " nor " +
                             (share_folder() / "analysis").string() +
                             " is there; call it where it was built or installed, or by a link");
  const Interpreter python = interpreter();
  if (python.made && !fs::exists(python.program))
    throw std::runtime_error(python.program + ": not there; ./setup.sh installs what plots need");
  FileActions silent;
  silent.silence_stderr();
  if (python.made ||
      status_of(spawn({python.program, "-c", std::string(import_packages)}, silent)) == 0)
    return;
  throw std::runtime_error(python.program +
                           ": lacks Python packages that plots need; python3 -m venv DIR && "
                           "DIR/bin/pip install --no-deps -r " +
                           (home() / "analysis" / "requirements.txt").string() +
                           " installs them, and GRADRACE_PYTHON=DIR/bin/python names that Python");
}

int run_python(const std::string& script, std::vector<std::string> words, OnSignal on_signal) {
  check_python();
  std::cout << std::flush;
  const pid_t child = spawn(script_words(script, std::move(words)), FileActions());
  std::optional<HandingOn> handing_on;
  if (on_signal == OnSignal::hand_on) handing_on.emplace(child);
  return status_of(child);
}

std::optional<std::string> ask_python(const std::string& script, std::vector<std::string> words,
                                      double seconds) {
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  std::optional<std::string> answer;
  try {
    FileActions actions;
    actions.silence_stderr();
    actions.send_stdout_to(ends[1]);
    const pid_t child = spawn(script_words(script, std::move(words)), actions);
    ::close(std::exchange(ends[1], -1));
    answer = read_until(ends[0], deadline);
    if (!answer) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) answer.reset();
  } catch (const std::runtime_error&) {  // there is no such Python
  }
  for (const int end : ends)
    if (end >= 0) ::close(end);
  return answer;
}

}  // namespace gradrace
