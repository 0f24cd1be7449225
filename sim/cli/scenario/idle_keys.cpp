#include "sim/cli/scenario/idle_keys.h"

#include <nlohmann/json.hpp>

namespace gradrace {

void IdleKeys::add(std::span<const ExaminedKey> keys) {
  std::set<std::string> idle;
  for (const ExaminedKey& key : keys) {
    if (!key.says_nothing) continue;
    idle.insert(key.problem.place());
    idle_.try_emplace(key.problem.place(), key);
  }
  for (const ExaminedKey& key : keys)
    if (!idle.contains(key.problem.place())) at_work_.insert(key.problem.place());
}

void IdleKeys::spare(const Document& unsound) {
  for (const auto& [place, key] : idle_) {
    const bool has = unsound.root().contains(nlohmann::ordered_json::json_pointer(key.pointer));
    if (has && unsound.problem(key.pointer, {}).place() == place) at_work_.insert(place);
  }
}

std::vector<Problem> IdleKeys::problems() const {
  std::vector<Problem> problems;
  for (const auto& [place, key] : idle_)
    if (!at_work_.contains(place)) problems.push_back(key.problem);
  return problems;
}

}  // namespace gradrace
