// Gives a target its seeds and corpus, then mutations of these, without help of the compiler: fuzz
// TARGET [--runs N] [--seed S] [--from N] [--replay FILE] [--write FOLDER].  Execution n of a seed
// and a corpus is always the same, so that a long run goes on where it was (--from).  --write puts
// seeds and corpus into files, for guided_fuzz.  An input that shows a fault is written to
// fuzz-TARGET-N, and the exit status is 1.  A fault is also what ends the program, or takes a
// minute of processor time, or more than 4 GiB of memory; then the run ends with it.

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "sim/reading/rest_of.h"
#include "tests/fuzz/mutation.h"
#include "tests/fuzz/target.h"

namespace gradrace {

namespace {

struct Words {
  std::string target, replay, write;
  std::uint64_t runs = 10'000, seed = 1, from = 0;
};

int usage() {
  std::cerr << "fuzz TARGET [--runs N] [--seed S] [--from N] [--replay FILE] [--write FOLDER]\n"
               "targets:";
  for (const FuzzTarget* target : all_targets()) std::cerr << ' ' << target->name;
  std::cerr << '\n';
  return 2;
}

/// What is executed now, for fatal().
const std::string* input_now = nullptr;
std::string file_now;

/// Writes the input that ends the program, by calls that a handler of signals may make.
void fatal(int signal) {
  const int file = ::open(file_now.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && input_now) (void)!::write(file, input_now->data(), input_now->size());
  const char* const what =
      signal == SIGVTALRM ? "fuzz: a minute of processor time: " : "fuzz: ended by a signal: ";
  for (const std::string_view text :
       {std::string_view(what), std::string_view(file_now), std::string_view("\n")})
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(1);
}

void watch() {
  for (const int signal : {SIGVTALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, fatal);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t most_memory = rlim_t{4} << 30;
  const rlimit limit{most_memory, most_memory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

/// From now on, a minute of processor time.
void start_clock() {
  const itimerval minute{.it_interval = {}, .it_value = {.tv_sec = 60, .tv_usec = 0}};
  ::setitimer(ITIMER_VIRTUAL, &minute, nullptr);
}

bool fails(const FuzzTarget& target, const std::string& input, const std::string& file) {
  std::string what;
  input_now = &input;
  file_now = file;
  start_clock();
  try {
    target.run(input);
    return false;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "no std::exception";
  }
  std::ofstream(file, std::ios::binary) << input;
  std::cerr << target.name << ": " << what << "\nfuzz " << target.name << " --replay " << file
            << '\n';
  return true;
}

int write(const std::vector<std::string>& inputs, const std::filesystem::path& folder) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    std::ofstream(folder / std::to_string(i), std::ios::binary) << inputs[i];
  return 0;
}

int run(const FuzzTarget& target, const Words& words) {
  const std::vector<std::string> inputs = inputs_of(target);
  if (!words.write.empty()) return write(inputs, words.write);
  watch();
  if (!words.replay.empty()) {
    std::ifstream file(words.replay, std::ios::binary);
    return fails(target, rest_of(file), words.replay) ? 1 : 0;
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::uint64_t failed = 0;
  constexpr std::uint64_t most_failed = 10;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    failed += fails(target, inputs[i],
                    "fuzz-" + std::string(target.name) + "-given-" + std::to_string(i));
  const std::uint64_t end = words.from + words.runs;
  for (std::uint64_t n = words.from; n < end && failed < most_failed; ++n) {
    const std::string input = target.mutate(inputs, words.seed, n);
    const std::string name = "fuzz-" + std::string(target.name) + "-" + std::to_string(n);
    if (fails(target, input, name)) ++failed;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::cout << target.name << ": " << words.runs << " executions from " << words.from << ", seed "
            << words.seed << ": " << failed << " faults, " << static_cast<int>(seconds) << " s\n";
  return failed == 0 ? 0 : 1;
}

int main(int count, char** words) {
  if (count < 2) return usage();
  // Freed memory is kept for the next execution: giving pages back took half of the time.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // Files of inputs are small and many: in memory they are read ten times as fast.
  if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  Words read{.target = words[1], .replay = {}, .write = {}};
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string key = words[i];
    if (key == "--replay")
      read.replay = words[i + 1];
    else if (key == "--write")
      read.write = words[i + 1];
    else if (key == "--runs")
      read.runs = std::strtoull(words[i + 1], nullptr, 10);
    else if (key == "--seed")
      read.seed = std::strtoull(words[i + 1], nullptr, 10);
    else if (key == "--from")
      read.from = std::strtoull(words[i + 1], nullptr, 10);
    else
      return usage();
  }
  const FuzzTarget* const target = target_named(read.target);
  return target == nullptr ? usage() : run(*target, read);
}

}  // namespace

}  // namespace gradrace

int main(int count, char** words) { return gradrace::main(count, words); }
