#pragma once

#include <vector>

#include "distributions/fit/read_trace.h"
#include "distributions/fit/readers/table_trace.h"

namespace gradrace {

/// The times of files of events.  Those of several files are of one learner where the files say so
/// (its rank), else each file is a learner's.  Throws TraceError.
ReadTrace event_trace(const std::vector<TraceText>& files, const TraceRequest& request);

}  // namespace gradrace
