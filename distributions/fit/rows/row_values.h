#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/readers/time_column.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// What a column of times says, row by row: a number as it stands, or from the begin to the end
/// where the request names these.  Stamps in whole numbers lose no digit.
class RowValues {
 public:
  RowValues(FoundTable& found, const TraceColumns& columns, const TraceRequest& request)
      : found_(found), table_(found.table), columns_(columns), request_(request) {}

  /// NaN where there is none.  Adds to the notes how cells were read.  Throws TraceError.
  std::vector<double> of(const std::string& name);

  /// Of the last column: seconds of a day; stamps without a zone.
  bool is_clock() const { return clock_; }
  bool is_local() const { return local_; }

 private:
  void check_units(const std::string& name, bool seconds);
  void subtract_begins(const std::string& name, TimeColumn& ends) const;
  std::vector<std::int64_t> whole_numbers(std::size_t column) const;
  std::string clock_text(const TimeColumn& column, std::size_t number) const;

  FoundTable& found_;
  const Table& table_;
  const TraceColumns& columns_;
  const TraceRequest& request_;
  std::pair<double, bool> unit_;  // of the first column; whether its cells are in seconds
  bool told_seconds_ = false, clock_ = false, local_ = false;
};

}  // namespace gradrace
