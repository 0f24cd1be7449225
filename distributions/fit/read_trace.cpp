#include "distributions/fit/read_trace.h"

#include <fstream>

#include "distributions/fit/readers/event_trace.h"
#include "distributions/fit/readers/table_trace.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Told by the first byte; what cannot be opened is left to the reader of tables.
bool has_events(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_fifo(file, ignored) || fs::is_character_file(file, ignored))
    throw TraceError(
        "path", file.string() + ": is a pipe or a device, and it is read more than once", "a file");
  std::ifstream stream(file, std::ios::binary);
  char first = 0;
  stream >> first;
  return first == '{' || first == '[';
}

}  // namespace

ReadTrace read_trace(const std::vector<fs::path>& files, const TraceRequest& request) {
  const bool events = has_events(files.front());
  if (!events && files.size() > 1) {
    throw TraceError("path",
                     "takes one CSV file; several are read where all are JSON files of "
                     "trace events, one a learner");
  }
  ReadTrace result = events ? event_trace(files, request) : table_trace(files.front(), request);
  result.source.scale = request.scale;
  for (auto& times : result.trace.series) {
    for (double& time : times) time *= request.scale;
  }
  return result;
}

}  // namespace gradrace
