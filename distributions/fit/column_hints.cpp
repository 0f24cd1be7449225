#include "distributions/fit/column_hints.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/rows/row_choice.h"

namespace gradrace {

Numbered numbered_in(const std::vector<std::string>& names) {
  std::map<std::string, Numbered> found;
  std::string first;
  for (const auto& name : names) {
    const auto stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
    if (stem == name || stem.empty()) continue;
    Numbered& its = found[stem];
    if (!its.stem.empty() && first.empty()) first = stem;
    its.stem = stem;
    ++its.names[name.size() - stem.size()];
  }
  return first.empty() ? Numbered{} : found[first];
}

std::string options_for(const Numbered& numbered, const std::vector<std::string>& names) {
  std::size_t wanted = 0;
  for (const auto& [digits, count] : numbered.names) wanted += count;
  const auto matching = std::ranges::count_if(
      names, [&](const auto& name) { return matches(name, numbered.stem + "*"); });
  if (static_cast<std::size_t>(matching) == wanted) return "--column '" + numbered.stem + "*'";
  std::string options;
  for (const auto& [digits, count] : numbered.names) {
    options += (options.empty() ? "--column '" : " --column '") + numbered.stem;
    for (std::size_t i = 0; i < digits; ++i) options += any_digit;
    options += "'";
  }
  return options;
}

namespace {

bool says_number(const std::string& cell) {
  return cell_time(cell, DecimalMark::point).has_value();
}

/// Of a row that has names, below lines of text.
std::string names_hint(const Table& table) {
  constexpr std::size_t looked_at = 20;
  for (std::size_t row = 0; row < std::min(looked_at, table.rows.size()); ++row)
    if (std::ranges::any_of(table.rows[row], says_time) &&
        std::ranges::none_of(table.rows[row], says_number))
      return "; or, where line " + std::to_string(table.lines[row]) +
             " has the names, without the lines above it";
  return {};
}

/// A hint where columns differ by a number alone.
std::string wide_hint(const Table& table) {
  const Numbered numbered = numbered_in(table.names);
  if (numbered.stem.empty()) return {};
  return "; or, where each column is a learner's, " + options_for(numbered, table.names);
}

/// A hint where a row says which quantity its value is of, as MLflow has it.
std::string long_hint(const Table& table) {
  constexpr std::string_view keys[] = {"key", "metric", "metric_name", "name", "tag", "variable"};
  if (std::ranges::find(table.names, "value") == table.names.end()) return {};
  const auto key = std::ranges::find_if(table.names, [&](const auto& name) {
    return std::ranges::find(keys, name) != std::end(keys);
  });
  if (key == table.names.end()) return {};
  return "; or, of one quantity in " + *key + ", --where '" + *key + "=NAME' --column value";
}

/// A hint where stamps or a rate could tell the times.
std::string other_hint(const Table& table) {
  const auto first = [&](const auto& says) {
    const auto found = std::ranges::find_if(table.names, says);
    return found == table.names.end() ? "" : *found;
  };
  const std::string begin = first(says_begin), end = first(says_end), rate = first(is_rate);
  std::string stamp = first(
      [](const auto& name) { return says_stamp(name) && !says_begin(name) && !says_end(name); });
  if (stamp.empty() && (begin.empty() || end.empty())) stamp = begin + end;
  std::string hint = long_hint(table);
  if (!begin.empty() && !end.empty())
    hint += "; or, from one stamp to the other, --begin '" + begin + "' --end '" + end + "'";
  const auto at = std::ranges::find(table.names, stamp) - table.names.begin();
  const bool is_read =
      !stamp.empty() && says_number(table.rows.front()[static_cast<std::size_t>(at)]);
  if (is_read) hint += "; or, from row to row, --column '" + stamp + "' --differences";
  if (!rate.empty()) hint += "; or, of a rate, --column '" + rate + "' --rate ITEMS";
  return hint + "; or, of a log, --pattern REGEX";
}

}  // namespace

std::string hints_of_times(const Table& table) {
  return names_hint(table) + wide_hint(table) + other_hint(table);
}

}  // namespace gradrace
