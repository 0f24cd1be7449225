#include "distributions/fit/rows/nested_rows.h"

#include <algorithm>

namespace gradrace {

NestedRows nested_rows(std::vector<RowRange> ranges) {
  constexpr double rounding = 1e-3;
  std::ranges::stable_sort(ranges, [](const RowRange& one, const RowRange& other) {
    return one.begin != other.begin ? one.begin < other.begin : one.end > other.end;
  });
  NestedRows result;
  double outer_end = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& [row, begin, end] = ranges[i];
    const double slack = rounding * (end - begin);
    if (i == 0 || begin + slack >= outer_end) {
      outer_end = i == 0 ? end : std::max(end, outer_end);
    } else if (end <= outer_end + slack) {
      result.inner.push_back(row);
    } else {
      ++result.crossing;
      outer_end = end;
    }
  }
  return result;
}

}  // namespace gradrace
