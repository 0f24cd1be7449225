#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributions/fit/trace.h"

namespace gradrace {

/// What a user says of files of times.
struct TraceRequest {
  std::vector<std::string> columns;    // of times; "*" is any text; several: one a learner
  std::optional<std::string> learner;  // column; none: by its name; empty: all are one learner's
  std::string cancelled;               // column; empty: no time is of a cancelled minibatch
  std::string step;                    // event of which each is a minibatch; empty: by its name
  double scale = 1;                    // factor on every time
};

/// The columns of a table that a fit reads, and how they were chosen.
struct TraceColumns {
  std::vector<std::string> times;
  std::string learner;      // empty: each column is one learner's
  std::string time_why;     // "chosen by its name"; empty where it was asked for
  std::string learner_why;  // the same
};

/// Chooses by names alone, whatever the cells are: the column of times is the one that is asked
/// for, else the only one whose name has a word for time; the column of learners is the first that
/// is called learner, worker, rank, node, machine or host.  Throws TraceError, with the columns
/// there are, where none or several could be the times.
TraceColumns choose_columns(const Table& table, const TraceRequest& request);

}  // namespace gradrace
