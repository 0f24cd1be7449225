#include "tests/support/run_numbers.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradrace {

std::string json_of(const Case& one, const std::string& rest) {
  return R"({"cluster": {"learners": )" + std::to_string(one.learners) + R"(, "runtime": )" +
         one.runtime + R"(}, "protocol": )" + one.protocol +
         R"(, "model": {"kind": "softmax", "minibatch": 3, "dataset":
             {"kind": "synthetic", "rows": 10}}, "timing_only": true, )" +
         rest + "}";
}

std::vector<double> numbers_of(const RaceRecord& record) {
  const Totals& totals = record.totals;
  std::vector<double> numbers{totals.time,
                              totals.last_update_time,
                              static_cast<double>(totals.updates),
                              static_cast<double>(totals.applied),
                              static_cast<double>(totals.dropped),
                              static_cast<double>(totals.cancelled),
                              static_cast<double>(totals.lost),
                              static_cast<double>(totals.staleness_sum),
                              static_cast<double>(totals.max_staleness)};
  for (const std::uint64_t count : record.staleness_counts)
    numbers.push_back(static_cast<double>(count));
  for (const auto& [point, evaluation] : record.curve) {
    const double epoch = std::isnan(point.epoch) ? -1 : point.epoch;
    numbers.insert(numbers.end(),
                   {point.time, static_cast<double>(point.update),
                    static_cast<double>(point.gradients), epoch, static_cast<double>(point.k)});
    CHECK(std::isnan(point.learning_rate));
  }
  return numbers;
}

std::vector<double> numbers_of(const std::vector<LearnerTotals>& learners) {
  std::vector<double> numbers;
  for (const LearnerTotals& learner : learners)
    numbers.insert(numbers.end(),
                   {learner.busy, learner.wasted, static_cast<double>(learner.gradients),
                    static_cast<double>(learner.draws)});
  return numbers;
}

RaceRecord run_by_events(const Race& race, std::uint32_t replica) {
  Observer observer;
  return run_timing(race, replica, &observer);
}

void check_equals_events(const Case& one) {
  CAPTURE(one.protocol);
  CAPTURE(one.runtime);
  for (const std::string rest :
       {R"("stop": {"time": 25}, "record": {"every_time": 5})",
        R"("stop": {"time": 7}, "record": {"every_time": 1.4})",
        R"("stop": {"updates": 30}, "record": {"every_updates": 10})",
        R"("stop": {"epochs": 50}, "record": {"every_epochs": 10})",
        R"("stop": {"gradients": 100, "time": 1000})", R"("stop": {"time": 1e-9})"}) {
    CAPTURE(rest);
    const Race race = point_from(json_of(one, rest)).race();
    for (std::uint32_t replica = 0; replica < 3; ++replica) {
      const RaceRecord run = run_timing(race, replica), events = run_by_events(race, replica);
      CHECK(numbers_of(run) == numbers_of(events));
      CHECK(numbers_of(run.learners) == numbers_of(events.learners));
    }
  }
}

void check_fails_as_by_events(const Case& one, const std::string& rest) {
  const Race race = point_from(json_of(one, rest)).race();
  const RaceRecord run = run_timing(race), events = run_by_events(race);
  CAPTURE(one.runtime);
  CAPTURE(events.reason);
  CHECK(events.status == Status::failed);
  CHECK(run.status == events.status);
  CHECK(run.reason == events.reason);
  CHECK(numbers_of(run) == numbers_of(events));
  CHECK(numbers_of(run.learners) == numbers_of(events.learners));
}

}  // namespace gradrace
