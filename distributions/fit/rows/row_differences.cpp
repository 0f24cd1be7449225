#include "distributions/fit/rows/row_differences.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "distributions/fit/readers/column_words.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Successive values of a learner: a running total, or stamps.
struct RunningTotal {
  std::vector<double> values;
  std::vector<double> steps;  // counters at these, or empty
};

/// The durations between successive values, by learner, and what happened where a value fell.
struct Differences {
  std::vector<std::vector<double>> times;
  std::size_t restarts = 0;   // the total began again at 0
  std::size_t left_out = 0;   // neither, or the step goes back, but not to the first
  std::size_t unknown = 0;    // learners whose first total is far from 0: left out
  std::size_t midnights = 0;  // a clock of the day went over 24 h
  bool falls = false;         // far more often than it rises: no total and no stamps
};

constexpr double day = 86400;
constexpr double most_left = 0.9;  // of a total that began again; a clock set back keeps more

/// Of the values or the steps of all learners; 0 where none rises.
double median_rise(const std::vector<RunningTotal>& series, std::vector<double> RunningTotal::*of) {
  std::vector<double> rises;
  for (const auto& totals : series) {
    const auto& values = totals.*of;
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (values[i] > values[i - 1]) rises.push_back(values[i] - values[i - 1]);
    }
  }
  if (rises.empty()) return 0;
  const auto middle = rises.begin() + static_cast<std::ptrdiff_t>(rises.size() / 2);
  std::ranges::nth_element(rises, middle);
  return *middle;
}

/// Whether a total that falls from `before` to `value` began again at 0.
bool begins_at_0(double value, double before, double rise) {
  constexpr double few = 5, many = 20;
  return value <= few * rise || (value <= many * rise && value <= before / 2) ||
         value <= before / many;
}

/// Adds 24 h to what follows a midnight; returns how many there are.
std::size_t go_over_midnight(std::vector<double>& values, double rise) {
  constexpr double many = 20;
  std::size_t days = 0;
  double before = 0;
  for (double& value : values) {
    if (value < before && value + day - before <= many * rise) ++days;
    before = value;
    value += static_cast<double>(days) * day;
  }
  return days;
}

class DifferenceMaker {
 public:
  DifferenceMaker(Differences& all, double rise, double stride)
      : all_(all), rise_(rise), stride_(stride) {}

  void add(const RunningTotal& totals, bool restarts) {
    const auto& [values, steps] = totals;
    auto& times = all_.times.emplace_back();
    const double first_step = steps.empty() ? 0 : *std::ranges::min_element(steps);
    double before = values.empty() ? 0 : *std::ranges::max_element(values), step_before = 0;
    bool known = false;  // whether the value before is
    for (std::size_t i = 0; i < values.size();) {
      std::size_t end = i;  // of equal values
      while (end < values.size() && values[end] == values[i]) ++end;
      const double last_step = steps.empty() ? static_cast<double>(end - 1) : steps[end - 1];
      const auto count = static_cast<double>(end - i);
      if (i == 0 || values[i] < before) {
        // From 0, unless several steps were made until this value.
        const bool one_a_value =
            steps.empty() || end >= steps.size() || steps[end] - last_step <= 1;
        const bool at_first = !steps.empty() && steps[i] == first_step;
        const bool from_0 = restarts && (begins_at_0(values[i], before, rise_) ||
                                         (at_first && (i == 0 || values[i] <= most_left * before)));
        if (i > 0) ++(from_0 ? all_.restarts : all_.left_out);
        if (i == 0 && restarts && !from_0) ++all_.unknown;
        known = true;
        if (from_0 && values[i] > 0 && one_a_value)
          times.insert(times.end(), end - i, values[i] / count);
      } else if (known) {
        const double gone = last_step - step_before;
        if (gone < 0 && steps[i] > first_step) {
          ++all_.left_out;  // steps that are made again, after a pause
        } else {
          const double made = gone > 0 ? gone : gone < 0 ? count * stride_ : count;
          times.insert(times.end(), end - i, (values[i] - before) / made);
        }
      }
      before = values[i];
      step_before = last_step;
      i = end;
    }
  }

 private:
  Differences& all_;
  const double rise_, stride_;  // usual ones, of values and of steps
};

/// From a value to the next larger one, over how far the steps go on between them (by one a value
/// where there are none or they stay, by as much as usual where they go back), so that equal values
/// share what follows.  A total that falls to a value as small as a few differences, or small
/// beside the total, began again at 0, and so did the first one where any does; so does one where
/// the step goes back to the first. `clock`: values are seconds of a day.
Differences differences_of(std::vector<RunningTotal> series, bool clock) {
  Differences result;
  const double rise = median_rise(series, &RunningTotal::values);
  const double stride = std::max(1.0, median_rise(series, &RunningTotal::steps));
  std::size_t rises = 0, falls = 0;
  bool restarts = false;
  for (auto& [values, steps] : series) {
    if (clock) result.midnights += go_over_midnight(values, rise);
    for (std::size_t i = 1; i < values.size(); ++i) {
      rises += values[i] > values[i - 1];
      falls += values[i] < values[i - 1];
      restarts =
          restarts || (values[i] < values[i - 1] && begins_at_0(values[i], values[i - 1], rise));
    }
  }
  result.falls = falls >= 2 * rises;
  DifferenceMaker maker(result, rise, stride);
  for (const auto& totals : series) maker.add(totals, restarts);
  return result;
}

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
