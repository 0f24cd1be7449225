#include "distributions/fit/rows/row_differences.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/rows/differences.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Where a column counts what minibatches have, and goes on by unlike numbers from row to row.
void tell_items(FoundTable& found, const std::map<std::string, RowSeries>& all) {
  const Table& table = found.table;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    if (!counts_items(table.names[column])) continue;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const auto& [learner, series] : all) {
      for (std::size_t i = 1; i < series.size(); ++i) {
        double before = 0, now = 0;
        if (!parse_number(table.rows[series[i - 1].row][column], before) ||
            !parse_number(table.rows[series[i].row][column], now))
          continue;
        least = std::min(least, now - before);
        most = std::max(most, now - before);
      }
    }
    if (!(least > 0 && least < most)) continue;
    found.notes.push_back("the column " + table.names[column] + " goes on by " +
                          short_number(least) + " to " + short_number(most) +
                          ": differences are of so many, and are not divided by that; where "
                          "minibatches are equal, log each");
    return;
  }
}

void tell_falls(const Differences& found, const Table& table, const TraceColumns& columns,
                std::vector<std::string>& notes) {
  if (found.falls) {
    throw TraceError("differences",
                     table.file.string() + ": " + listed(columns.times) +
                         " falls from row to row, as the time that is left does",
                     "a column that rises: a running total, or stamps");
  }
  notes.push_back(
      std::string("times are the differences of successive values of each learner") +
      (found.restarts > 0 ? "; a value far below the one before began again at 0" : ""));
  std::size_t differences = 0;
  for (const auto& times : found.times) differences += times.size();
  if (const std::size_t most = 20; found.left_out > most && 4 * found.left_out > differences) {
    throw TraceError("differences",
                     table.file.string() + ": " + count_text(found.left_out, "difference") +
                         " of " + std::to_string(differences + found.left_out) +
                         " fall, and not to 0: the rows of a learner are not in the order of "
                         "their times",
                     "a file whose rows are sorted by the column, or --learner COLUMN where the "
                     "rows are of several learners");
  }
  if (found.midnights > 0)
    notes.push_back("the clock goes over midnight " + count_text(found.midnights, "time") +
                    ": 24 h are added");
  if (found.unknown > 0)
    notes.push_back("left out: the first value of " + count_text(found.unknown, "learner") +
                    ", which is far from 0, as where a log begins later than its total");
  if (found.left_out > 0)
    notes.push_back("left out: " + count_text(found.left_out, "difference") +
                    " in which the value falls, but not to 0, or the step goes back, but "
                    "not to the first: as "
                    "where a clock is set back or a job goes on from a checkpoint");
}

}  // namespace

std::vector<double> steps_of(const RowSeries& series, const TraceColumns& columns) {
  std::vector<double> steps;
  for (const auto& one : series) {
    if (!columns.places.empty()) steps.push_back(columns.places[one.row].step);
  }
  return steps;
}

void take_differences(FoundTable& found, const TraceColumns& columns, bool clock,
                      std::map<std::string, RowSeries>& all) {
  tell_items(found, all);
  std::size_t equal = 0, count = 0;
  double stride = 1;
  std::vector<RunningTotal> totals;
  for (const auto& [learner, series] : all) {
    RunningTotal& its = totals.emplace_back();
    for (const auto& one : series) its.values.push_back(one.time);
    its.steps = steps_of(series, columns);
    for (std::size_t i = 1; i < series.size(); ++i, ++count)
      equal += series[i].time == series[i - 1].time;
    for (std::size_t i = 1; i < its.steps.size(); ++i)
      stride = std::max(stride, its.steps[i] - its.steps[i - 1]);
  }
  const Differences differences = differences_of(std::move(totals), clock);
  tell_falls(differences, found.table, columns, found.notes);
  if (equal > 0) {
    found.notes.push_back(
        std::to_string(equal) + " of " + std::to_string(count) +
        " differences are 0, as of a clock that ticks too slowly: equal values share "
        "the time to the next, so that the mean is right and the spread is not");
  }
  if (stride > 1) {
    found.notes.push_back(
        "the column " + columns.step + " goes on by up to " + short_number(stride) +
        ": differences are divided by that, so that each is a mean over steps, which "
        "vary more");
  }
  auto times = differences.times.begin();
  for (auto& [learner, series] : all) {
    if (times->empty()) {
      throw TraceError("differences",
                       found.table.file.string() + ": learner " + shown(learner) +
                           " has no value that follows another",
                       "--where 'COLUMN!=" + learner + "' for the others");
    }
    series.clear();
    for (const double time : *times++) series.push_back({0, time});
  }
}

}  // namespace gradrace
