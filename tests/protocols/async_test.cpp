#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::async_test {

namespace {
const char* const async_protocol = R"({"kind": "async"})";
}

TEST_CASE("async: every arrival is an update, and only its sender reads the new version") {
  CHECK(schedule(async_protocol, 3, {1, 2, 4, 2.5, 9, 9, 9}, 3) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "1 arrive 0@0", "1 update 1: 0@0+0", "1 dispatch 0@1",
                                 "2 arrive 1@0", "2 update 2: 1@0+1", "2 dispatch 1@2",
                                 "3.5 arrive 0@1", "3.5 update 3: 0@1+1", "3.5 dispatch 0@3"});
}

TEST_CASE("async: 8 learners of mean 1 update every 0.125") {
  check_iteration_time(async_protocol, 0.125);
}

TEST_CASE("async: theory holds for three laws") { check_theory(async_protocol); }

TEST_CASE("async: the staleness of all gradients adds up to updates x (P - 1) at every moment") {
  for (const auto* runtime :
       {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
    check_staleness(async_protocol, 8, 1, 7, runtime);
  }
}

TEST_CASE("async: a share of 1/P of the gradients is fresh when runtimes are exponential") {
  const RunRecord record = run_timing(race_of(8, async_protocol, R"({"updates": 1000000})"));
  const double fresh = static_cast<double>(record.staleness_counts[0]) / 1e6;
  CHECK(std::abs(fresh - 0.125) <= 0.00125);  // 1 %; a standard error is 0.0003
}

}  // namespace gradrace::async_test
