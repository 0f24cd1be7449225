#include "sim/cli/scenario/covered_values.h"

#include <map>
#include <string>
#include <utility>

#include "sim/reading/json_places.h"

namespace gradrace {

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

}  // namespace gradrace
