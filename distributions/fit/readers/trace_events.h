#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "distributions/fit/table.h"

namespace gradrace {

/// One event of a file in the Trace Event Format, which profilers write for chrome://tracing and
/// Perfetto; times in microseconds.
struct TraceEvent {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::string name, category, phase;           // "X": lasts; "B", "E": begins, ends; "b", "e"
  std::string identity;                        // "id", or that of "id2": whose "b" an "e" ends
  double begin = unknown, duration = unknown;  // "ts", "dur"; numbers, or texts that are such
  std::string process, thread;                 // "pid", "tid", also where they are numbers
  std::string named;                           // "args": {"name"}, of metadata
  std::size_t offset = 0;                      // of its first byte in the text
};

/// What else the file says.
struct TraceHeader {
  std::string rank;  // "distributedInfo": {"rank"} of PyTorch's profiler, else empty
  std::vector<std::string> notes;
};

/// Calls `take` with each event in the text's order: of a JSON array, or of an object's
/// "traceEvents".  Keeps none.  A text may end anywhere (a job that was killed): an event that is
/// cut is left out and told.  Of an event that is no JSON, what is no value (inf, NaN, N/A) is
/// taken for none; one that is none even so is left out and told.  Throws TraceError where no event
/// can be read.
TraceHeader read_events(const std::filesystem::path& file, std::string_view text,
                        const std::function<void(TraceEvent&)>& take);

/// At the event's first byte: "file:line:column: what".
TraceError event_error(const std::filesystem::path& file, std::string_view text, std::size_t offset,
                       const std::string& what, std::string allowed = {});

/// The unit of what is read from events is the second.
constexpr double microseconds_a_second = 1e6;

}  // namespace gradrace
