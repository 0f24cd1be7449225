#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "distributions/fit/read_trace.h"

namespace gradrace {

/// The text of a file that was read.
struct TraceText {
  std::filesystem::path file;
  std::string text;
};

/// The times of tables, JSON records or logs.  Several files have the same columns; where no column
/// says whose a row is, each file is a learner's.  Throws TraceError.
ReadTrace table_trace(const std::vector<TraceText>& files, const TraceRequest& request);

}  // namespace gradrace
