#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/race_text.h"

namespace gradrace {

/// Who computes, by which protocol, for how long: JSON.
struct Case {
  std::uint32_t learners;
  std::string protocol, runtime;
};

/// A timing-only scenario with `rest`, which says stop and what is recorded, and a training set of
/// 10 rows.
std::string json_of(const Case& one, const std::string& rest);

/// Every number that a run's files have of it, in one order.
std::vector<double> numbers_of(const RaceRecord& record);
/// The same of the learners.
std::vector<double> numbers_of(const std::vector<LearnerTotals>& learners);

/// An observer sees minibatches, so that each is an event.
RaceRecord run_by_events(const Race& race, std::uint32_t replica = 0);

/// Runs as it is and by events agree in every number, bit for bit, in three replicas, wherever the
/// run ends.
void check_equals_events(const Case& one);
/// Also in why it failed.
void check_fails_as_by_events(const Case& one, const std::string& rest);

}  // namespace gradrace
