#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/mutation.h"

namespace gradrace {

/// What is fuzzed: `run` takes any bytes, and throws where the program is at fault.
struct FuzzTarget {
  std::string_view name;
  void (*run)(std::string_view bytes);
  std::vector<std::string> seeds;  // inputs that are right
  /// Input n of a seed.
  std::string (*mutate)(const std::vector<std::string>& seeds, std::uint64_t seed,
                        std::uint64_t n) = mutated;
};

/// A result that breaks an invariant.
[[noreturn]] void unexpected(const std::string& what);

/// Runs what reads strangers' text; the errors that tell a user of a mistake are no faults.
void allow_told_errors(void (*read)(std::string_view bytes), std::string_view bytes);
/// Runs what may take more memory than there is: the program reports such a run as failed.
void allow_out_of_memory(void (*read)(std::string_view bytes), std::string_view bytes);

std::span<const FuzzTarget* const> all_targets();
/// Null where there is none.
const FuzzTarget* target_named(std::string_view name);
/// Its seeds, and what tests/fuzz/corpus/NAME.txt has: an input a line, of which \\ is a backslash
/// and \xHH any byte that is not printed.
std::vector<std::string> inputs_of(const FuzzTarget& target);

extern const FuzzTarget json_target, scenario_target, csv_target, libsvm_target, idx_target,
    digits_target, cifar10_target, trace_target, events_target, runs_target, training_target;

}  // namespace gradrace
