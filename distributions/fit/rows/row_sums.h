#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/rows/row_begins.h"
#include "distributions/fit/rows/row_series.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// Sums of a learner's rows that agree in the columns of TraceRequest::sum_by and, where steps or
/// epochs are counted, are of one pass and one epoch.
class RowSums {
 public:
  RowSums(const Table& table, const TraceColumns& columns, const TraceRequest& request)
      : table_(table), columns_(columns), request_(request) {}

  /// In the order of their first rows.  A row that lies within another one counts with that.
  /// Throws TraceError.
  RowSeries of(const RowSeries& series, const RowBegins& ranges);

  /// What was summed.
  void tell(const RowBegins& ranges, std::vector<std::string>& notes) const;

 private:
  using Names = std::vector<std::string>;

  const Names& keys();
  std::set<std::size_t> inner_rows(const RowSeries& series, const RowBegins& ranges);
  void tell_lacking(std::vector<std::string>& notes) const;

  const Table& table_;
  const TraceColumns& columns_;
  const TraceRequest& request_;
  Names keys_;                                  // [row]
  std::size_t inner_ = 0, crossing_ = 0;        // rows
  std::map<std::size_t, std::size_t> sums_of_;  // [rows] how many sums are of so many
};

}  // namespace gradrace
