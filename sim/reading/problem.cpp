#include "sim/reading/problem.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/reading/characters.h"
#include "sim/reading/glossary.h"

namespace gradrace {

static std::string line_of(const Problem& problem) {
  std::string result = printable(problem.origin);
  if (problem.line == 0) return result;
  return result + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column);
}

std::string Problem::place() const { return line_of(*this) + ": " + path; }

std::string Problem::text() const {
  std::string result = line_of(*this) + ": error: ";
  constexpr std::size_t most = 400;  // of a path, which may have a key of any length
  if (!path.empty())
    result += printable(path.substr(0, most)) + (path.size() > most ? "...: " : ": ");
  result += printable(what);
  if (!meaning.empty()) result += "; it is: " + meaning;
  if (!allowed.empty()) result += "\n    allowed: " + printable(allowed);
  if (!suggestion.empty()) {
    const Synonym* const term = synonym_of(path.substr(path.rfind('.') + 1));
    const bool is_its = term && term->here == suggestion;
    result += "\n    did you mean \"" + printable(suggestion) + "\"" +
              (is_its ? " (" + std::string(term->meaning) + ")" : "") + "?";
  }
  return result;
}

void sort_by_place(std::vector<Problem>& problems) {
  const auto place = [](const Problem& p) {
    return std::make_tuple(p.line == 0, std::string_view(p.origin), p.line, p.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  std::set<std::string> seen;
  std::erase_if(problems, [&](const Problem& p) { return !seen.insert(p.text()).second; });
}

constexpr std::string_view unknown = "unknown key";

/// "a.json: parts[].mean": what the problems of a list's items have in common; those of unknown
/// keys have that.
static std::string key_of(const Problem& problem) {
  std::string key = problem.origin + ": ";
  if (problem.what == unknown) return key + std::string(unknown);
  bool inside = false;
  for (const char c : problem.path) {
    inside = inside && c != ']';
    if (!inside) key += c;
    inside = inside || c == '[';
  }
  return key;
}

/// Where it is, up to the value: what the problems of a list that is written by its ends share.
static std::string without_value(const Problem& problem) {
  return problem.place() + problem.what.substr(0, problem.what.find(", got "));
}

/// Of one key the first few, and of one place's values the first.
static std::string texts(const std::vector<Problem>& problems) {
  constexpr std::size_t most = 20;
  std::map<std::string, std::size_t> counts, told, values;
  for (const auto& problem : problems)
    if (++values[without_value(problem)] == 1) ++counts[key_of(problem)];
  std::string result;
  for (const auto& problem : problems) {
    const std::size_t here = std::exchange(values[without_value(problem)], 0);
    const std::string key = key_of(problem);
    if (here == 0 || ++told[key] > most) continue;
    result += (result.empty() ? "" : "\n") + problem.text();
    if (here > 1) result += "\n    and " + std::to_string(here - 1) + " more of its values";
    if (told[key] == most && counts[key] > most)
      result += "\n    and " + std::to_string(counts[key] - most) +
                (problem.what == unknown ? " more unknown keys" : " more of this key");
  }
  return result;
}

static std::vector<Problem> sorted(std::vector<Problem> problems) {
  sort_by_place(problems);
  return problems;
}

ScenarioError::ScenarioError(std::vector<Problem> problems)
    : std::runtime_error(texts(sorted(problems))), problems_(sorted(std::move(problems))) {}

}  // namespace gradrace
