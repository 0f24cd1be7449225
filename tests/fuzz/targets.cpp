#include <fstream>

#include "tests/fuzz/target.h"

namespace gradrace {

namespace {

const FuzzTarget* const targets[] = {&json_target,    &scenario_target, &csv_target,
                                     &libsvm_target,  &idx_target,      &digits_target,
                                     &cifar10_target, &trace_target,    &events_target,
                                     &runs_target,    &training_target};

std::string unescaped(std::string_view line) {
  std::string bytes;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      bytes += line[i];
    } else if (line.substr(i + 1).starts_with('x')) {
      bytes += static_cast<char>(std::stoi(std::string(line.substr(i + 2, 2)), nullptr, 16));
      i += 3;
    } else {
      bytes += line[++i];
    }
  }
  return bytes;
}

}  // namespace

std::span<const FuzzTarget* const> all_targets() { return targets; }

const FuzzTarget* target_named(std::string_view name) {
  for (const FuzzTarget* target : targets)
    if (target->name == name) return target;
  return nullptr;
}

std::vector<std::string> inputs_of(const FuzzTarget& target) {
  std::vector<std::string> inputs = target.seeds;
  std::ifstream corpus("tests/fuzz/corpus/" + std::string(target.name) + ".txt");
  for (std::string line; std::getline(corpus, line);) inputs.push_back(unescaped(line));
  return inputs;
}

}  // namespace gradrace
