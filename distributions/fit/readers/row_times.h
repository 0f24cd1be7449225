#pragma once

#include <string>
#include <vector>

#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/trace.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// What cells say of time, by row.
struct TimeColumn {
  std::vector<double> values;  // NaN: blank
  bool seconds = false;        // by their units, or as stamps
  bool stamps = false;
};

/// Reads a column.  Throws TraceError where a cell is neither a time (`positive`: above 0) nor
/// blank, or where some cells have units and others none.
TimeColumn time_column(const FoundTable& found, const std::string& name, bool positive);

/// The times of a table's rows as the request makes minibatches of them: differences, sums, from
/// begin to end, a rate's inverse, without the first ones.  Adds to the notes what it did.
/// Throws TraceError.
Trace trace_of_rows(FoundTable& found, const TraceColumns& columns, const TraceRequest& request);

/// The durations between the successive values of a running total, or of stamps: from a value to
/// the next larger one, over how far the steps go on between them (by one a value where `steps` is
/// empty or does not rise), so that equal values share what follows.  Where a value is smaller than
/// the one before, the total began again at 0, and so it did at the first value if it ever does.
std::vector<double> differences_of(const std::vector<double>& totals,
                                   const std::vector<double>& steps, bool restarts);

}  // namespace gradrace
