#pragma once

#include <filesystem>

#include "distributions/fit/read_trace.h"

namespace gradrace {

/// The times of a CSV file.  Throws TraceError.
ReadTrace table_trace(const std::filesystem::path& file, const TraceRequest& request);

}  // namespace gradrace
