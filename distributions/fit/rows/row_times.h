#pragma once

#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/trace.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// The times of a table's rows as the request makes minibatches of them: differences, sums, from
/// begin to end, a rate's inverse, without the first ones.  Adds to the notes what it did.
/// Throws TraceError.
Trace trace_of_rows(FoundTable& found, const TraceColumns& columns, const TraceRequest& request);

}  // namespace gradrace
