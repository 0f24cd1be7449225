#pragma once

#include <string>
#include <vector>

#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// When rows begin and end, by columns that the request names or whose names say so, in numbers
/// like those of the times.
class RowBegins {
 public:
  RowBegins(const FoundTable& found, const TraceColumns& columns, const TraceRequest& request);

  /// [row]; empty: no column says so.
  const std::vector<double>& begins() const { return begins_; }
  const std::vector<double>& ends() const { return ends_; }
  /// That begins are of; else empty.
  const std::string& column() const { return column_; }

 private:
  std::vector<double> begins_, ends_;
  std::string column_;
};

}  // namespace gradrace
