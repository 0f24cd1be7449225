#include "sim/cli/scenario/swept_problems.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sim/cli/scenario/sweep.h"
#include "sim/reading/json_places.h"

namespace gradrace {

namespace {

/// The first few.
std::string listed(const std::set<std::string>& values) {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t count = 0;
  for (const std::string& value : values) {
    if (count++ == most) return text + ", ...";
    text += (count > 1 ? ", " : "") + value;
  }
  return text;
}

/// What sweeps the key with the paths: whole objects where it is beside or within what they set.
std::string way_out(const std::string& key, const std::vector<std::string>& paths) {
  const std::string section = key.substr(0, key.find('.'));
  const bool within = std::ranges::any_of(
      paths, [&](const std::string& path) { return path.substr(0, path.find('.')) == section; });
  if (within) {
    return "a whole " + section + " for each value, \"sweep\": {\"" + section +
           "\": [{...}, {...}]}";
  }
  std::string lists;
  for (const std::string& path : paths) lists += "\"" + path + "\": [...], ";
  const bool in_network = is_within(key, "cluster.network");  // whose keys go by the topology
  return (in_network ? "an object for each" : "a value for each") +
         (", \"sweep\": {\"zip\": {" + lists + "\"") +
         (in_network ? "cluster.network\": [{...}, {...}]}}" : key + "\": [...]}}");
}

}  // namespace

SweptProblems::SweptProblems(std::vector<std::string> paths)
    : paths_(std::move(paths)), values_(paths_.size()) {}

void SweptProblems::add(const std::vector<SweptValue>& settings,
                        const std::vector<Problem>& problems) {
  for (std::size_t i = 0; i < settings.size(); ++i) values_[i].insert(settings[i].cell());
  for (const Problem& problem : problems) {
    const auto [place, is_new] = places_.try_emplace(problem.text(), found_.size());
    if (is_new) found_.push_back({problem, Values(paths_.size())});
    Values& with_it = found_[place->second].values;
    for (std::size_t i = 0; i < settings.size(); ++i) with_it[i].insert(settings[i].cell());
  }
}

std::vector<Problem> SweptProblems::problems() const {
  std::vector<Problem> problems;
  for (const Found& found : found_) problems.push_back(explained(found));
  return problems;
}

Problem SweptProblems::explained(const Found& found) const {
  Problem problem = found.problem;
  std::vector<std::string> paths;
  std::string where;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const std::string dotted = dotted_path(pointer_along(paths_[i]));
    if (is_within(problem.path, dotted)) return problem;
    if (found.values[i] == values_[i] || !is_within(dotted, "protocol")) continue;
    paths.push_back(paths_[i]);
    where += (where.empty() ? " (at " : ", ") + paths_[i] + " = " + listed(found.values[i]);
  }
  if (paths.empty()) return problem;
  problem.what += where + ")";
  const std::string key = problem.path;
  if (!is_sweepable(key)) return problem;
  problem.allowed += (problem.allowed.empty() ? "" : "; or ") + way_out(key, paths);
  return problem;
}

std::vector<Problem> problems_of_covered_values(
    const Sweep& sweep, const std::function<std::vector<Problem>(const Document&)>& read) {
  std::vector<Problem> problems;
  for (const std::string& path : sweep.paths()) {
    const std::string pointer = pointer_along(path);
    std::map<std::string, std::string> places;          // [pointer of the value]
    std::map<std::string, std::vector<Problem>> found;  // [place of the value]
    for (std::size_t number = 0; number < sweep.points(); ++number) {
      const auto value = sweep.covered(path, number);
      if (!value) continue;
      if (const auto place = places.find(*value); place != places.end()) {
        if (found.at(place->second).empty()) continue;
      }
      const Document document = sweep.without(path, number);
      const Problem here = document.problem(pointer, "");
      const std::string place = here.place();
      places.try_emplace(*value, place);
      const auto known = found.find(place);
      if (known != found.end() && known->second.empty()) continue;
      std::vector<Problem> wrong = read(document);
      std::erase_if(wrong, [&](const Problem& one) { return !is_within(one.path, here.path); });
      if (known == found.end())
        found.emplace(place, std::move(wrong));
      else if (wrong.empty())
        known->second.clear();
    }
    for (const auto& [place, wrong] : found)
      problems.insert(problems.end(), wrong.begin(), wrong.end());
  }
  return problems;
}

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
