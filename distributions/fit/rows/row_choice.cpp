#include "distributions/fit/rows/row_choice.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "sim/message_text.h"

namespace gradrace {

bool matches(std::string_view name, std::string_view pattern) {
  std::size_t at = 0, in = 0, star = std::string_view::npos, after = 0;
  while (at < name.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      after = at;
    } else if (pattern.substr(std::min(in, pattern.size())).starts_with(any_digit) &&
               std::isdigit(static_cast<unsigned char>(name[at]))) {
      in += any_digit.size(), ++at;
    } else if (in < pattern.size() && pattern[in] == name[at]) {
      ++in, ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++after;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') ++in;
  return in == pattern.size();
}

RowPattern row_pattern(const std::string& words) {
  const auto equals = words.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw TraceError("where", "--where " + shown(words) + " chooses no rows",
                     "COLUMN=PATTERN or COLUMN!=PATTERN, in which * is any text");
  }
  const bool unlike = words[equals - 1] == '!';
  return {std::string(trimmed(words.substr(0, equals - (unlike ? 1 : 0)))),
          std::string(trimmed(words.substr(equals + 1))), unlike};
}

void choose_rows(Table& table, const std::vector<RowPattern>& where) {
  for (const auto& row_pattern : where) {
    const std::size_t column = table.column(row_pattern.column, "where");
    const auto kinds = kinds_of(table.cells(column), 1);
    std::vector<std::vector<std::string>> rows;
    std::vector<std::size_t> lines;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (!row_pattern.holds(trimmed(table.rows[row][column]))) continue;
      rows.push_back(std::move(table.rows[row]));
      lines.push_back(table.lines[row]);
    }
    if (rows.empty()) {
      throw TraceError("where",
                       table.file.string() + ": no row has " + row_pattern.column +
                           (row_pattern.unlike ? " unlike " : " like ") +
                           shown(row_pattern.pattern),
                       kinds_text(kinds, {}));
    }
    table.rows = std::move(rows);
    table.lines = std::move(lines);
  }
}

std::string without_number(const std::string& name) {
  std::size_t end = name.size();
  if (end > 0 && std::string_view("])}").find(name[end - 1]) != std::string_view::npos) --end;
  const std::size_t closed = end;
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  if (end == closed) return name;
  while (end > 0 && std::string_view("#_:-/ .[({").find(name[end - 1]) != std::string_view::npos)
    --end;
  return end == 0 ? name : name.substr(0, end);
}

/// "train step" of "train step 7", "step_*/forward" of "step_7/forward": a pattern of such names.
static std::string stem_of_name(std::string_view name) {
  if (is_number(name)) return "(a number)";
  std::string stem;
  for (const char c : without_number(std::string(name))) {
    if (!std::isdigit(static_cast<unsigned char>(c)))
      stem += c;
    else if (stem.empty() || stem.back() != '*')
      stem += '*';
  }
  return stem;
}

NameKinds kinds_of(std::span<const std::string_view> names, std::size_t learners) {
  struct Stem {
    std::map<std::string_view, std::size_t> names;  // how often
    std::size_t rows = 0;
  };
  std::map<std::string, Stem, std::less<>> stems;
  std::map<std::string_view, std::string> stem_of;
  for (const auto name : names) {
    auto& stem = stem_of[name];
    if (stem.empty()) stem = stem_of_name(name);
    Stem& its = stems[stem];
    ++its.names[name];
    ++its.rows;
  }
  const auto counts_up = [&](const Stem& stem) {
    return 2 * stem.rows <= 3 * learners * stem.names.size();
  };
  std::map<std::string, std::size_t> counts;
  const auto kind_of = [&](std::string_view name) {
    const std::string& stem = stem_of[name];
    return counts_up(stems[stem]) ? stem : std::string(name);
  };
  for (const auto name : names) ++counts[kind_of(name)];
  NameKinds kinds;
  for (const auto& [kind, count] : counts) kinds.names.push_back(kind);
  std::ranges::stable_sort(kinds.names,
                           [&](const auto& a, const auto& b) { return counts[a] > counts[b]; });
  std::map<std::string, std::size_t> places;
  for (const auto& name : kinds.names) {
    places[name] = kinds.counts.size();
    kinds.counts.push_back(counts[name]);
  }
  for (const auto name : names) kinds.of.push_back(places[kind_of(name)]);
  return kinds;
}

std::string kinds_text(const NameKinds& kinds, std::span<const double> times) {
  constexpr std::size_t most = 8;
  std::vector<double> sums(kinds.names.size());
  std::vector<std::size_t> counts(sums.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (std::isnan(times[i])) continue;
    sums[kinds.of[i]] += times[i];
    ++counts[kinds.of[i]];
  }
  std::string text;
  for (std::size_t kind = 0; kind < std::min(most, sums.size()); ++kind) {
    text +=
        (kind > 0 ? ", " : "") + kinds.names[kind] + " (" + count_text(kinds.counts[kind], "time");
    if (!times.empty())
      text += counts[kind] == 0
                  ? ", all blank"
                  : ", mean " + short_number(sums[kind] / static_cast<double>(counts[kind]), 3);
    text += ")";
  }
  if (sums.size() > most) text += ", and " + std::to_string(sums.size() - most) + " more";
  return text;
}

}  // namespace gradrace
