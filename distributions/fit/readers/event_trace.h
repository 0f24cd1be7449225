#pragma once

#include <filesystem>
#include <vector>

#include "distributions/fit/read_trace.h"

namespace gradrace {

/// The times of files of events: of several, each is a learner's.  Throws TraceError.
ReadTrace event_trace(const std::vector<std::filesystem::path>& files, const TraceRequest& request);

}  // namespace gradrace
