#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "distributions/fit/table.h"

namespace gradrace {

/// Measured times of one minibatch, by learner.
struct Trace {
  std::filesystem::path file;
  std::string hash;                         // of the file's bytes
  std::vector<std::string> learners;        // ascending, by number if all are numbers
  std::vector<std::vector<double>> series;  // [learner], in the order of the rows; all > 0
  /// [learner][time] true: cancelled after that time, its minibatch would have taken longer.
  /// Empty: none was.
  std::vector<std::vector<bool>> cancelled = {};
  std::vector<std::string> notes = {};  // what to know of it, of one that a scenario names

  std::size_t size() const;
};

/// The times of a column.  A row belongs to the learner that `learner_column` names; without one
/// (empty), all rows are one series.  Throws TraceError.
Trace trace_of(const Table& table, std::string_view column, std::string_view learner_column);

/// Names of learners in their order: as numbers if all are numbers, else as texts.
void sort_learners(std::vector<std::string>& names);

}  // namespace gradrace
