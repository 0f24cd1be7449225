#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distributions/fit/table.h"

namespace gradrace {

/// Stands for a digit in a pattern.
constexpr std::string_view any_digit = "[0-9]";

/// Whether a name fits a pattern, in which "*" is any text and "[0-9]" any digit.
bool matches(std::string_view name, std::string_view pattern);

/// "COLUMN=PATTERN" or "COLUMN!=PATTERN": rows whose cell fits, or does not.
struct RowPattern {
  std::string column, pattern;
  bool unlike = false;

  bool holds(std::string_view cell) const { return matches(cell, pattern) != unlike; }
};

/// Throws TraceError for another text.
RowPattern row_pattern(const std::string& words);

/// Leaves the rows in which all patterns hold.  Throws TraceError where none is left.
void choose_rows(Table& table, const std::vector<RowPattern>& where);

/// The kinds of things that names are of, the commonest first: numbers in a name do not count
/// ("ProfilerStep#12", "step_12/forward"), unless the same ones come again and again ("layer1",
/// "layer2", more often than there are learners).
struct NameKinds {
  std::vector<std::string> names;   // of kinds
  std::vector<std::size_t> counts;  // [kind]
  std::vector<std::size_t> of;      // [name of those given] its kind
};
NameKinds kinds_of(std::span<const std::string_view> names, std::size_t learners);

/// "ProfilerStep" of "ProfilerStep#12", "train step" of "train step 7", "12" of "12".
std::string without_number(const std::string& name);

/// "forward (80 rows, mean 0.031), backward (80, 0.072), and 3 more".
std::string kinds_text(const NameKinds& kinds, std::span<const double> times);

}  // namespace gradrace
