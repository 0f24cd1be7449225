#include <cxxabi.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <vector>

#include "sim/cli/commands/commands.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/standard_streams.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/problem.h"

namespace gradrace {

namespace {

const Command& command_of(std::string_view name) {
  for (const auto* command : all_commands) {
    if (command->name == name) return *command;
  }
  std::string message = "there is no command \"" + std::string(name) + "\"; allowed:";
  std::vector<std::string_view> names;
  for (const auto* command : all_commands) {
    message += " " + std::string(command->name);
    names.push_back(command->name);
  }
  const std::string_view nearest = nearest_name(name, names);
  throw UsageError(message +
                   (nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?"));
}

void print_help() {
  std::cout << "gradrace races protocols of distributed SGD against each other in simulated "
               "wall-clock time.\n\n"
               "usage: gradrace COMMAND [options]; gradrace COMMAND --help says more\n\n";
  for (const auto* command : all_commands) {
    std::cout << "  " << command->name << std::string(12 - command->name.size(), ' ')
              << command->summary << '\n';
  }
  std::cout
      << "\nFirst steps:\n"
         "  gradrace run quickstart --plot\n"
         "  gradrace list protocols\n\n"
         "exit status: 0 done; 1 a run failed; 2 bad usage or bad scenario; 130 interrupted\n";
}

/// As many as the system allows: a folder may have a store for each of 1,000 shards.
void raise_limit_of_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Beyond a limit of the size of files (ulimit -f) a write fails and is told, as on a full disk.
void tell_of_limit_of_file_size() { std::signal(SIGXFSZ, SIG_IGN); }

/// As analysis/asked.py asks, whom a signal may end that no handler sees.
void end_with_caller() {
  constexpr const char* asked = "GRADRACE_ENDS_WITH_CALLER";
  const char* const caller = std::getenv(asked);
  if (caller == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(::getppid()) != caller) std::_Exit(128 + SIGKILL);  // it has ended
  ::unsetenv(asked);
}

std::terminate_handler default_terminate = std::get_terminate();

/// Where memory ends in a destructor, as in those of JSON, which allocate, no error can be caught:
/// finished runs are in their store, and the program ends with the same words as elsewhere.
[[noreturn]] void end_without_memory() {
  const std::type_info* error = abi::__cxa_current_exception_type();
  if (error == nullptr || *error != typeid(std::bad_alloc)) default_terminate();
  constexpr std::string_view words = "gradrace: out of memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words.data(), words.size());
  std::_Exit(1);
}

int dispatch(const Words& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? 2 : 0;
  }
  if (words[0] == "--version") {
    std::cout << version_text() << '\n';
    return 0;
  }
  return command_of(words[0]).run({words.begin() + 1, words.end()});
}

/// And not of the names that the user gave.
bool is_of_the_machine(const std::error_code& code) {
  return code == std::errc::no_space_on_device || code == std::errc::io_error ||
         code == std::errc::too_many_files_open || code == std::errc::not_enough_memory;
}

/// The exit status; errors are told.
int run_command_line(const Words& words) {
  try {
    return dispatch(words);
  } catch (const ScenarioError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const UsageError& error) {
    std::cerr << "gradrace: " << printable(error.what()) << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "gradrace: out of memory\n";
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "gradrace: " << printable(error.path1().string())
              << ": cannot be used: " << error.code().message() << '\n';
    return is_of_the_machine(error.code()) ? 1 : 2;
  } catch (const std::system_error& error) {
    const bool lacks_threads = error.code() == std::errc::resource_unavailable_try_again;
    std::cerr << "gradrace: " << (lacks_threads ? "no thread can be started (ulimit -u): " : "")
              << printable(error.what()) << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "gradrace: " << printable(error.what()) << '\n';
    return 1;
  }
}

}  // namespace

}  // namespace gradrace

int main(int argc, char** argv) {
  std::set_terminate(gradrace::end_without_memory);
  gradrace::open_standard_streams();
  gradrace::raise_limit_of_open_files();
  gradrace::tell_of_limit_of_file_size();
  gradrace::end_with_caller();
  const int status = gradrace::run_command_line({argv + 1, argv + argc});
  const std::string lost = gradrace::lost_output();
  if (lost.empty()) return status;
  std::cerr << "gradrace: " << lost << '\n';
  return status == 0 ? 1 : status;
}
