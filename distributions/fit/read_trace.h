#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "distributions/fit/trace.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// Where the times of a trace come from.
struct TraceSource {
  std::string times;          // the column's or event's name
  std::string learner;        // the column's name, or the names of several; else empty
  std::string times_told;     // "column seconds (chosen by its name)"
  std::string learner_told;   // "column rank", "no column, all times are one learner's"
  double scale = 1;           // by which the file's times were multiplied
  bool one_column = false;    // so that a scenario can read it: a table, and a row for each time
  bool durations = false;     // what only rises is no running total: said so, or differences
  std::uint32_t skipped = 0;  // first times of each learner
  std::vector<std::string> notes;  // what was left out, changed or read in another way
  std::string average;             // what a log says of averages, and the cure; else empty
  std::vector<std::string> said;   // beside a log's times, such as "data time", "per 100 steps";
                                   // of a table without learners the column of steps
  std::string repeated;            // of rows that stand in two files; else empty
  bool step_times = false;         // certainly those of a job that waits for its slowest learner
  std::string cancelled_hint;  // a column that may say which minibatches were cancelled, else empty
  std::size_t learners_a_step = 0;  // fewer than there are, and the same in each; 0: not so
};

struct ReadTrace {
  Trace trace;
  TraceSource source;
};

/// Reads tables, logs or files of trace events: of several files, each is a learner's, unless they
/// say whose their times are.  What a file is is told by its beginning.  Throws TraceError.
ReadTrace read_trace(const std::vector<std::filesystem::path>& files, const TraceRequest& request);

}  // namespace gradrace
