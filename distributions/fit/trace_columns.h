#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "distributions/fit/rows/row_choice.h"
#include "distributions/fit/table.h"

namespace gradrace {

/// What a user says of files of times.
struct TraceRequest {
  std::vector<std::string> columns;  // of times; "*" is any text; several: one a learner
  /// Columns that say whose a row is, together; none: by their names; {""}: all are one learner's.
  std::optional<std::vector<std::string>> learners;
  std::string cancelled;            // column; empty: no time is of a cancelled minibatch
  std::string step;                 // event of which each is a minibatch; empty: by its name
  double scale = 1;                 // factor on every time
  std::vector<RowPattern> where;    // rows, or events, that are minibatches
  std::vector<std::string> sum_by;  // columns: the times of rows that agree in them are added up
  std::string begin, end;           // columns of stamps: a time is from one to the other
  std::string pattern;              // regular expression that finds times in a log
  bool differences = false;         // the column is a running total, or has stamps
  bool durations = false;           // it is none, although it only rises
  double items = 0;                 // > 0: the column is a rate, and a minibatch has so many
  std::size_t skip = 0;             // first times of each learner that are left out

  bool chooses_by(const std::string& column) const;
};

/// Which step a row is of, in the order in which its learner made them.
struct StepPlace {
  std::size_t pass;  // how often the step went back before
  double epoch, step;

  auto operator<=>(const StepPlace&) const = default;
};

/// The columns of a table that a fit reads, and how they were chosen.
struct TraceColumns {
  std::vector<std::string> times;
  std::vector<std::string> learners;   // together; empty: each column of times is one learner's
  std::string step, epoch;             // that count steps, and start them again; else empty
  std::string time_why;                // "chosen by its name"; empty where it was asked for
  std::string learner_why;             // the same
  std::vector<StepPlace> places = {};  // [row]; empty: no column counts steps
};

/// Chooses by names: the column of times is the one that is asked for, else the only one whose name
/// has a word for time and none for its begin, end or a rate; the column of learners is called
/// learner, worker, rank, device, host or alike, and that of steps step, iteration or alike.
/// Throws TraceError, with the columns there are, where none or several could be the times.
TraceColumns choose_columns(const Table& table, const TraceRequest& request);

/// [row] Whose it is: the cells of those columns.
std::vector<std::string> learner_names(const Table& table, const std::vector<std::string>& columns);

}  // namespace gradrace
