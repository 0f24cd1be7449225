#pragma once

#include <doctest/doctest.h>

#include "tests/support/mean.h"
#include "tests/support/race_text.h"

namespace gradrace {

inline double iteration_time(const RunRecord& record) {
  return record.totals.last_update_time / static_cast<double>(record.totals.updates);
}

/// The mean iteration time of 30 replicas is within 4 standard errors of the expected one, which
/// are less than 0.5 % of it.
inline void check_iteration_time(const Race& race, double expected) {
  constexpr std::uint32_t replicas = 30;
  Mean time;
  for (std::uint32_t replica = 0; replica < replicas; ++replica)
    time.add(iteration_time(run_timing(race, replica)));
  CAPTURE(time.value());
  CAPTURE(time.error());
  CHECK(time.agrees(expected));
  CHECK(time.error() <= 0.005 * expected);
}

}  // namespace gradrace
