#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gradrace {

/// A time, and the row of a table that it is of or, of several, the first.
struct RowTime {
  std::size_t row;
  double time;
};
using RowSeries = std::vector<RowTime>;

}  // namespace gradrace
