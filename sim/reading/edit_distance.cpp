#include "sim/reading/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/reading/glossary.h"

namespace gradrace {

static char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = small(a[i - 1]) == small(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) &&
                           small(a[i - 2]) == small(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    std::swap(last, row);
  }
  return last.back();
}

/// Without what parts a name's words.
static std::string letters(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ') result += c;
  }
  return result;
}

/// The only name that begins with the word; empty if there is none, or several are.
static std::string_view only_longer(std::string_view word,
                                    std::span<const std::string_view> names) {
  std::string_view found;
  for (const auto name : names) {
    if (!name.starts_with(word)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names) {
  const Synonym* const term = synonym_of(word);
  const auto known = term ? std::ranges::find(names, term->here) : names.end();
  if (known != names.end()) return *known;
  const std::string bare = letters(word);
  std::string_view nearest;
  auto least = std::make_pair<std::size_t, std::size_t>(3, 0);
  for (const auto name : names) {
    const std::string other = letters(name);
    const std::size_t longer = std::max(bare.size(), other.size());
    if (longer - std::min(bare.size(), other.size()) >= 3) continue;
    const std::size_t distance = edit_distance(bare, other);
    const auto both = std::make_pair(distance, edit_distance(word, name));
    if (both >= least || 2 * distance > longer) continue;
    least = both;
    nearest = name;
  }
  return nearest.empty() && word.size() >= 4 ? only_longer(word, names) : nearest;
}

}  // namespace gradrace
