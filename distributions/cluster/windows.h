#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/reading/fields.h"

namespace gradrace {

/// A stretch of simulated time in which learners work at 1 / factor of their speed, and what they
/// begin takes `delay` longer: from start (included) to start + length (excluded), and again after
/// each `every`.
struct Window {
  double start = 0;
  std::optional<double> length;  // for ever without one
  double factor = 1;
  std::optional<double> every;          // once without one
  std::vector<std::uint32_t> learners;  // ascending; all if empty
  double delay = 0;                     // of what is begun
};

std::vector<Window> read_windows(Fields& fields, std::uint32_t learners);

/// Time that `learner` takes from `begin` for what would take it `work` outside all windows: it
/// works at 1 / (product of the factors of those that are open), and the delays of those that are
/// open at `begin` come on top.  After 2^40 openings a window counts by its mean speed and delay,
/// as times are too coarse to tell when it is open.
double time_through(std::span<const Window> windows, std::uint32_t learner, double begin,
                    double work);

}  // namespace gradrace
