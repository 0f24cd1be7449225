#include <doctest/doctest.h>

#include <limits>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"
#include "tests/support/ssp_reads.h"

namespace gradrace::ssp_test {

namespace {

/// Times, learners and what they do, without versions and updates.
std::vector<std::string> without_versions(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const auto& line : lines) {
    if (line.find("update") == std::string::npos) result.push_back(line.substr(0, line.find('@')));
  }
  return result;
}

}  // namespace

TEST_CASE("ssp: s = 1, P = 3: two clocks ahead waits until the slowest is one behind") {
  CHECK(schedule(R"({"kind": "ssp", "bound": 1})", 3, {1, 3, 4, 1.5, 5, 1, 1, 9}, 6) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0",      "0 dispatch 2@0",  //
                                 "1 arrive 0@0",   "1 update 1: 0@0+0",   "1 dispatch 0@1",  //
                                 "2.5 arrive 0@1", "2.5 update 2: 0@1+0",  // waits
                                 "3 arrive 1@0",   "3 update 3: 1@0+2",   "3 dispatch 1@3",  //
                                 "4 arrive 2@0",   "4 update 4: 2@0+3",   "4 dispatch 0@4",
                                 "4 dispatch 2@4",                       //
                                 "5 arrive 0@4",   "5 update 5: 0@4+0",  // waits
                                 "5 arrive 2@4",   "5 update 6: 2@4+1",   "5 dispatch 2@6"});
}

TEST_CASE("ssp: s = 0 is a barrier after every clock: learners start and finish as under sync") {
  CHECK(without_versions(events(R"({"kind": "ssp", "bound": 0})", 8, 8 * 200)) ==
        without_versions(events(R"({"kind": "sync"})", 8, 200)));
}

TEST_CASE("ssp: a bound that is never reached is async, event for event, and costs nothing") {
  for (const auto* bound : {"1000", "4294967295"}) {
    CHECK(events(R"({"kind": "ssp", "bound": )" + std::string(bound) + "}", 8, 5000) ==
          events(R"({"kind": "async"})", 8, 5000));
  }
}

TEST_CASE("ssp: every read sees what the bound promises, for five bounds and four laws") {
  for (const auto* runtime :
       {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
    for (const std::uint32_t bound : {0u, 1u, 2u, 5u, 40u}) {
      CAPTURE(runtime);
      CAPTURE(bound);
      const Race race = race_of(8, R"({"kind": "ssp", "bound": )" + std::to_string(bound) + "}",
                                R"({"updates": 16000})", runtime);
      SspReads reads(8, bound);
      run_timing(race, 0, &reads);
      CHECK(reads.spread() == bound);
      CHECK(reads.most_missing_and_extra() <= bound * 7);
    }
  }
}

TEST_CASE("ssp: theory holds for three laws where the bound is 0") {
  check_theory(R"({"kind": "ssp", "bound": 0})");
}

TEST_CASE("ssp: the time of a clock falls from E[X_{P:P}] towards E[X] as s grows") {
  for (const auto* runtime : {exponential_1, shifted_exponential_1_1, hyperexponential_mean_1}) {
    CAPTURE(runtime);
    double before = std::numeric_limits<double>::infinity(), at_least = 0;
    for (const auto* bound : {"0", "1", "2", "4", "8", "16", "64", "256"}) {
      CAPTURE(bound);
      const Race race = race_of(8, R"({"kind": "ssp", "bound": )" + std::string(bound) + "}",
                                R"({"updates": 200000})", runtime);
      const double time = run_timing(race).totals.last_update_time;
      at_least = 200000 * theory_of(race).iteration_time->value;
      CHECK(time < before);  // the same draws: certain, not only in the mean
      CHECK(time >= 0.99 * at_least);
      before = time;
    }
    CHECK(before <= 1.05 * at_least);
  }
}

}  // namespace gradrace::ssp_test
