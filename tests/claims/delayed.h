#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/support/race_text.h"

namespace gradrace {

/// Async with delay + 1 learners of the same constant runtime, so that every gradient but those of
/// the start is that many updates old; a quadratic of curvature 1.
struct Delayed {
  std::uint32_t delay;
  double eta;
  double momentum = 0;
  int dimensions = 1;
  double start = 1, noise = 0;
  std::uint64_t updates = 40000, every_updates = 1;  // run, and from evaluation to evaluation
};

/// The loss that it settles at with noise of variance 1.
double delayed_floor(double eta, std::size_t delay, double momentum = 0);

RaceRecord run_delayed(const Delayed& delayed, std::uint32_t replica = 0);

}  // namespace gradrace
