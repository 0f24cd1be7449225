#pragma once

#include <cstddef>
#include <vector>

namespace gradrace {

/// When a row begins and ends.
struct RowRange {
  std::size_t row;
  double begin, end;
};

struct NestedRows {
  std::vector<std::size_t> inner;  // rows whose range lies within another's
  std::size_t crossing = 0;        // ranges that begin within another and end after it
};

/// Of ranges of one sum.  Of equal ones the first is the outer one.  An end may be later than the
/// outer's by a thousandth of the range, as of rounded times.
NestedRows nested_rows(std::vector<RowRange> ranges);

}  // namespace gradrace
