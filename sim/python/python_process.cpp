#include "sim/python/python_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "sim/message_text.h"
#include "sim/run_error.h"

extern char** environ;

namespace gradrace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Descriptors of the worker; those of this process are greater, so that none takes another's
/// place.
enum WorkerDescriptor {
  worker_socket = 3,
  worker_memory = 4,
  worker_stack = 5,
  worker_source = 6,
  least_own = 10
};

static RunError cannot(const std::string& what) {
  return RunError("python: " + what + ": " + std::strerror(errno));
}

/// The same descriptor with a number that no worker's descriptor has; the first is closed.
static int moved(int descriptor, const char* what) {
  const int result = descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, least_own);
  if (result < 0) throw cannot(what);
  ::close(descriptor);
  return result;
}

/// From the beginning, where it is read from.
static void write(int descriptor, std::string_view bytes) {
  for (off_t at = 0; !bytes.empty();) {
    const ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot("shared memory");
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
}

/// In which sets of words have the same order each time.
static std::vector<char*> environment() {
  static char same_order[] = "PYTHONHASHSEED=0";
  std::vector<char*> variables{same_order};
  for (char** one = environ; *one != nullptr; ++one)
    if (!std::string_view(*one).starts_with("PYTHONHASHSEED=")) variables.push_back(*one);
  variables.push_back(nullptr);
  return variables;
}

PythonProcess::PythonProcess(const PythonClass& of)
    : PythonProcess(of, of.kind->worker, of.arguments, of.words) {}

PythonProcess::PythonProcess(const PythonClass& of, std::string_view script,
                             std::string_view arguments, const std::vector<std::string>& words)
    : key_(of.kind->key), file_(of.file.string()), name_(of.name), timeout_(of.timeout) {
  try {
    start(of, script, arguments, words);
    const Answer made = receive();
    std::istringstream lines(made.text);
    for (std::string place; std::getline(lines, place);) places_.push_back(place);
    std::ranges::copy(made.head.numbers, sizes_);
  } catch (...) {
    kill();
    throw;
  }
}

std::string PythonProcess::fault_of(const PythonClass& of) {
  std::vector<std::string> words{std::string(of.kind->functions)};
  if (!of.kind->package.empty()) words.emplace_back(of.kind->package);
  try {
    const PythonProcess look(of, "look.py", "", words);
    return {};
  } catch (const RunError& error) {
    return error.what();
  }
}

PythonProcess::~PythonProcess() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));  // so that it ends by itself
  const auto patience = Clock::now() + milliseconds(500);
  while (process_ > 0 && Clock::now() < patience) {
    if (::waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
    if (process_ > 0) std::this_thread::sleep_for(milliseconds(1));
  }
  kill();
}

void PythonProcess::kill() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
    process_ = -1;
  }
  if (memory_ != nullptr) ::munmap(std::exchange(memory_, nullptr), memory_bytes_);
  for (int* const one : {&socket_, &shared_, &stack_, &source_})
    if (*one >= 0) ::close(std::exchange(*one, -1));
}

void PythonProcess::start(const PythonClass& of, std::string_view script,
                          std::string_view arguments, const std::vector<std::string>& words) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw cannot("a socket");
  int other = -1;
  try {
    socket_ = moved(ends[0], "a socket");
    other = moved(ends[1], "a socket");
    shared_ = moved(::memfd_create("gradrace", MFD_CLOEXEC), "shared memory");
    stack_ = moved(::memfd_create("gradrace-stack", MFD_CLOEXEC), "shared memory");
    source_ = moved(::memfd_create("gradrace-source", MFD_CLOEXEC), "shared memory");
    write(source_, std::string(arguments) + of.source);
    const auto seconds = std::chrono::duration<double>(of.timeout);
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(seconds);
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(seconds - whole);
    const timeval timeout{.tv_sec = whole.count(), .tv_usec = rest.count()};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    std::vector<std::string> all{of.setting.interpreter, (of.setting.workers / script).string(),
                                 file_, name_, std::to_string(arguments.size())};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> line;
    for (std::string& word : all) line.push_back(word.data());
    line.push_back(nullptr);
    std::vector<char*> variables = environment();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, other, worker_socket);
    posix_spawn_file_actions_adddup2(&actions, shared_, worker_memory);
    posix_spawn_file_actions_adddup2(&actions, stack_, worker_stack);
    posix_spawn_file_actions_adddup2(&actions, source_, worker_source);
    const int error =
        ::posix_spawnp(&process_, line.front(), &actions, nullptr, line.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      process_ = -1;
      throw RunError(of.setting.interpreter + ": cannot be run: " + std::strerror(error));
    }
  } catch (...) {
    if (other >= 0) ::close(other);
    throw;
  }
  ::close(other);
}

std::byte* PythonProcess::map_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared_, 0);
  if (mapped == MAP_FAILED) throw cannot("shared memory");
  memory_bytes_ = bytes;
  return memory_ = static_cast<std::byte*>(mapped);
}

PythonProcess::Answer PythonProcess::call(std::size_t function, std::string_view request) {
  called_ = function;
  send(request);
  return receive();
}

void PythonProcess::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail_at(end_of_process());
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

PythonProcess::Answer PythonProcess::receive() {
  Answer answer;
  if (!receive(reinterpret_cast<char*>(&answer.head), sizeof answer.head))
    fail_at(end_of_process());
  answer.text.resize(answer.head.length);
  if (!receive(answer.text.data(), answer.text.size())) fail_at(end_of_process());
  if (answer.head.status == 1) throw RunError(answer.text);
  return answer;
}

/// False: the process has ended.
bool PythonProcess::receive(char* to, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(socket_, to, count, 0);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) fail_as_late();
    if (got < 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

void PythonProcess::fail_as_late() {
  ::kill(process_, SIGUSR1);  // it writes its stack
  for (int tenths = 0; tenths < 10 && place_in_stack().empty(); ++tenths)
    std::this_thread::sleep_for(milliseconds(100));
  fail_at("did not come back within " + short_number(timeout_) + " seconds (" + key_ +
          ".timeout), and was ended");
}

/// Where the process was, if its stack says so, else the function that was called.
void PythonProcess::fail_at(const std::string& what) {
  std::string place = place_in_stack();
  if (place.empty()) place = called_ < places_.size() ? places_[called_] : file_ + ": " + name_;
  throw RunError(place + ": " + what);
}

/// "model.py:12: in gradient": the innermost line of the file; empty where no stack was written.
std::string PythonProcess::place_in_stack() const {
  char text[8192];
  const ssize_t count = ::pread(stack_, text, sizeof text, 0);
  if (count <= 0) return {};
  const std::string_view stack(text, static_cast<std::size_t>(count));
  const std::string begin = "File \"" + file_ + "\", line ";
  std::size_t at = stack.find(begin);
  if (at == stack.npos) return {};
  at += begin.size();
  const std::size_t end = stack.find('\n', at);
  if (end == stack.npos) return {};
  std::string place(stack.substr(at, end - at));
  if (const std::size_t space = place.find(' '); space != place.npos) place.insert(space, ":");
  return file_ + ":" + place;
}

/// How it ended, in words.
std::string PythonProcess::end_of_process() {
  int status = 0;
  const auto patience = Clock::now() + milliseconds(1000);
  pid_t ended = 0;
  while ((ended = ::waitpid(process_, &status, WNOHANG)) == 0 && Clock::now() < patience)
    std::this_thread::sleep_for(milliseconds(1));
  if (ended != process_) return "its process answers no more";
  process_ = -1;
  if (WIFSIGNALED(status))
    return std::string("its process was ended by a signal: ") + ::strsignal(WTERMSIG(status));
  return "ended its process, with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace gradrace
