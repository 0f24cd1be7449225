// The targets under libFuzzer (preset fuzzer, clang): GRADRACE_FUZZ=TARGET guided_fuzz [libFuzzer's
// words].  tests/fuzz/guide.py calls it.

#include <sys/resource.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>

#include "tests/fuzz/target.h"

namespace {

const gradrace::FuzzTarget& chosen() {
  const char* const name = std::getenv("GRADRACE_FUZZ");
  const auto* const target = gradrace::target_named(name == nullptr ? "" : name);
  if (target == nullptr) {
    std::cerr << "GRADRACE_FUZZ names no target\n";
    std::exit(2);
  }
  if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  constexpr rlim_t most_memory = rlim_t{4} << 30;
  const rlimit limit{most_memory, most_memory};
  ::setrlimit(RLIMIT_AS, &limit);
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const gradrace::FuzzTarget& target = chosen();
  try {
    target.run({reinterpret_cast<const char*>(bytes), size});
  } catch (const std::exception& fault) {
    std::cerr << target.name << ": " << fault.what() << '\n';
    std::abort();
  }
  return 0;
}
