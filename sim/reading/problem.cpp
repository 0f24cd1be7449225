#include "sim/reading/problem.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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

/// Of one key the first few.
static std::string texts(const std::vector<Problem>& problems) {
  constexpr std::size_t most = 20;
  std::map<std::string, std::size_t> counts, told;
  for (const auto& problem : problems) ++counts[key_of(problem)];
  std::string result;
  for (const auto& problem : problems) {
    const std::string key = key_of(problem);
    if (++told[key] > most) continue;
    result += (result.empty() ? "" : "\n") + problem.text();
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
