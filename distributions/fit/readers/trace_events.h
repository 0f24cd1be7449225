#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "distributions/fit/trace.h"

namespace gradrace {

/// One event of a file in the Trace Event Format, which profilers write for chrome://tracing and
/// Perfetto; times in microseconds.
struct TraceEvent {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::string name, category, phase;           // "X": lasts; "B", "E": begins, ends
  double begin = unknown, duration = unknown;  // "ts", "dur"
  std::string process, thread;                 // "pid", "tid", also where they are numbers
  std::string named;                           // "args": {"name"}, of metadata
  std::size_t offset = 0;                      // of its first byte in the text
};

/// What else the file says.
struct TraceHeader {
  std::string rank;  // "distributedInfo": {"rank"} of PyTorch's profiler, else empty
};

/// Calls `take` with each event in the text's order: of a JSON array, whose closing bracket may be
/// missing, or of an object's "traceEvents".  Keeps none.  Throws TraceError at a syntax error and
/// where the text is neither.
TraceHeader read_events(const std::filesystem::path& file, std::string_view text,
                        const std::function<void(TraceEvent&)>& take);

/// At the event's first byte: "file:line:column: what".
TraceError event_error(const std::filesystem::path& file, std::string_view text, std::size_t offset,
                       const std::string& what, std::string allowed = {});

/// Microseconds in the unit of a trace that is read from events.
constexpr double second = 1e6;

}  // namespace gradrace
