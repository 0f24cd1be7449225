#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "distributions/fit/readers/found_table.h"

namespace gradrace {

/// What cells say of time, by row.
struct TimeColumn {
  std::vector<double> values;  // NaN: blank
  bool seconds = false;        // by their units, or as stamps
  bool stamps = false;
  bool clock = false;  // of a day: "23:59:58.5" in all cells
  std::string note;    // what a comma in a number was taken for; empty: there is none
};

/// Reads a column.  All its cells together say what a comma or a point in a number is.  Throws
/// TraceError where a cell is neither a time (`positive`: above 0) nor blank, where some cells have
/// units and others none, or where a mark may stand before decimals or between thousands.
TimeColumn time_column(const FoundTable& found, const std::string& name, bool positive);

/// Of a cell that is no time.  more: cells like it below.
[[noreturn]] void refuse_time(const Table& table, std::size_t row, std::size_t column,
                              std::size_t more);

/// "file:12: " of a row.
std::string place_of(const Table& table, std::size_t row);

}  // namespace gradrace
