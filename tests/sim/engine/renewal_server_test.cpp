#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/run_numbers.h"

namespace gradrace::renewal_server_test {

namespace {

const char* const async = R"({"kind": "async"})";

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::uint32_t learners : {1u, 2u, 8u, 33u, 300u})
    all.push_back({learners, async, R"({"distribution": "exponential", "mean": 1})"});
  for (
      const char* const runtime :
      {R"({"distribution": "deterministic", "value": 0.7})",
       R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 0.5})",
       R"({"distribution": "two-point", "low": 0.001, "high": 6, "probability": 0.01})",
       R"({"distribution": "pareto", "scale": 0.1, "shape": 1.1})",
       R"({"distribution": "uniform", "low": 1, "high": 1.0000001})",
       R"({"distribution": "lognormal", "mu": 0, "sigma": 3})",
       R"({"distribution": "hyperexponential", "probabilities": [0.99, 0.01], "means": [0.01, 9]})",
       // Many minibatches take less time than the clock can tell.
       R"({"distribution": "gamma", "shape": 0.05, "scale": 20})"})
    for (const std::uint32_t learners : {1u, 5u, 100u}) all.push_back({learners, async, runtime});
  return all;
}

}  // namespace

TEST_CASE("renewals: every number is that by events, bit for bit") {
  for (const Case& one : cases()) check_equals_events(one);
}

// Minibatches of no time come and go, so that spans are left to the heap and taken up again.
TEST_CASE("renewals: long runs are those by events too, wherever the tape is cut") {
  for (const char* const runtime :
       {R"({"distribution": "exponential", "mean": 1})",
        R"({"distribution": "two-point", "low": 1, "high": 1e8, "probability": 0.001})",
        R"({"distribution": "gamma", "shape": 0.05, "scale": 20})"}) {
    CAPTURE(runtime);
    for (const std::uint32_t learners : {3u, 200u}) {
      const Race race = point_from(json_of({learners, async, runtime},
                                           R"("stop": {"updates": 200000},
                                              "record": {"every_time": 100000})"))
                            .race();
      const auto events = run_by_events(race);
      CHECK(numbers_of(run_timing(race)) == numbers_of(events));
      const auto cut = run_race({race, 0, 7}, nullptr);
      CHECK(numbers_of(cut) == numbers_of(events));
      CHECK(numbers_of(cut.learners) == numbers_of(events.learners));
    }
  }
}

TEST_CASE("renewals: a run whose times overflow, or stand still, fails as by events") {
  for (const char* const runtime :
       {R"({"distribution": "two-point", "low": 1, "high": 1e308, "probability": 0.5})",
        R"({"distribution": "two-point", "low": 1, "high": 1e20, "probability": 0.01})",
        R"({"distribution": "two-point", "low": 1e300, "high": 1e308, "probability": 0.01})"})
    check_fails_as_by_events({3, async, runtime}, R"("stop": {"updates": 5000000})");
}

}  // namespace gradrace::renewal_server_test
