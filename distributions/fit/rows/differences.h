#pragma once

#include <cstddef>
#include <vector>

namespace gradrace {

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

/// From a value to the next larger one, over how far the steps go on between them (by one a value
/// where there are none or they stay, by as much as usual where they go back), so that equal values
/// share what follows.  A total that falls to a value as small as a few differences, or small
/// beside the total, began again at 0, and so did the first one where any does; so does one where
/// the step goes back to the first. `clock`: values are seconds of a day.
Differences differences_of(std::vector<RunningTotal> series, bool clock);

}  // namespace gradrace
