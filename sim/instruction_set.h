#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gradrace {

/// What inner loops are compiled for, each in a file of its own; the best that the machine has is
/// chosen when the program runs, and everything else is compiled for any machine of its kind.
enum class InstructionSet : std::uint8_t { avx512, avx2, neon, portable };

std::string_view name_of(InstructionSet set);

/// Those that this machine runs, the best one first.
std::span<const InstructionSet> runnable_instruction_sets();

/// The best, or the one that the environment variable GRADRACE_CPU names: it is for tests.
/// std::runtime_error where this machine does not run it.
InstructionSet chosen_instruction_set();

}  // namespace gradrace
