#include "sim/instruction_set.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradrace {

std::string_view name_of(InstructionSet set) {
  constexpr std::string_view names[] = {"avx512", "avx2", "neon", "portable"};
  return names[static_cast<std::size_t>(set)];
}

static std::vector<InstructionSet> found_instruction_sets() {
  using enum InstructionSet;
  std::vector<InstructionSet> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    found.push_back(avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(avx2);
#elif defined(__aarch64__)
  found.push_back(neon);
#endif
  found.push_back(portable);
  return found;
}

std::span<const InstructionSet> runnable_instruction_sets() {
  static const std::vector<InstructionSet> found = found_instruction_sets();
  return found;
}

InstructionSet chosen_instruction_set() {
  const char* const name = std::getenv("GRADRACE_CPU");
  if (name == nullptr || *name == '\0') return runnable_instruction_sets().front();
  std::string allowed;
  for (const InstructionSet set : runnable_instruction_sets()) {
    if (name_of(set) == name) return set;
    allowed += (allowed.empty() ? "" : ", ") + std::string(name_of(set));
  }
  throw std::runtime_error("GRADRACE_CPU: \"" + std::string(name) + "\"; allowed: " + allowed);
}

}  // namespace gradrace
