#pragma once

#include <map>
#include <string>

#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/rows/row_series.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// [step] of the series' rows; empty: no column counts steps.
std::vector<double> steps_of(const RowSeries& series, const TraceColumns& columns);

/// In place of running totals or stamps, by learner, the durations between them.  clock: seconds of
/// a day.  Adds to the notes what it did.  Throws TraceError.
void take_differences(FoundTable& found, const TraceColumns& columns, bool clock,
                      std::map<std::string, RowSeries>& series);

}  // namespace gradrace
