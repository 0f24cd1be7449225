#include "sim/cli/scenario/idle_keys.h"

namespace gradrace {

void IdleKeys::add(std::span<const ExaminedKey> keys) {
  for (const ExaminedKey& key : keys) {
    Found& found = found_.try_emplace(key.problem.place(), Found{key.problem}).first->second;
    found.says_something = found.says_something || !key.says_nothing;
  }
}

std::vector<Problem> IdleKeys::problems() const {
  std::vector<Problem> problems;
  for (const auto& [place, found] : found_)
    if (!found.says_something) problems.push_back(found.first);
  return problems;
}

}  // namespace gradrace
