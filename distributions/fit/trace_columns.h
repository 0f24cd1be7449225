#pragma once

#include <string>

#include "distributions/fit/trace.h"

namespace gradrace {

/// The columns of a table that a fit reads, and how they were chosen.
struct TraceColumns {
  std::string time;
  std::string learner;      // empty: all rows are one learner's
  std::string time_why;     // "chosen by its name"; empty where it was asked for
  std::string learner_why;  // the same
};

/// The column of times by the words in its name (of several, the longest word wins), else the only
/// column of numbers that is no counter; the column of learners by its name.  Columns of whole
/// numbers that never fall count rows, steps or devices.  Without `time_wanted` that is left
/// empty.  Throws TraceError where nothing can be chosen.
TraceColumns guess_columns(const Table& table, bool time_wanted);

}  // namespace gradrace
