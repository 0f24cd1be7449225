#include <doctest/doctest.h>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::softsync_test {

TEST_CASE(
    "softsync: n = 2, P = 5: two gradients from any learners, none dropped, who delivered goes "
    "on") {
  CHECK(schedule(R"({"kind": "softsync", "n": 2})", 5, {1, 2, 4, 9, 9, 0.5, 9, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "0 dispatch 3@0", "0 dispatch 4@0", "1 arrive 0@0",
                                 "1 dispatch 0@0", "1.5 arrive 0@0", "1.5 update 1: 0@0+0 0@0+0",
                                 "1.5 dispatch 0@1", "2 arrive 1@0", "2 dispatch 1@1",
                                 "4 arrive 2@0", "4 update 2: 1@0+1 2@0+1", "4 dispatch 2@2"});
}

TEST_CASE(
    "softsync: pull before: the learner that completes an update reads the version before it") {
  CHECK(schedule(R"({"kind": "softsync", "n": 1, "pull": "before"})", 2, {1, 2, 4, 1, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0",
                                 "1 dispatch 0@0", "2 arrive 1@0", "2 dispatch 1@0",
                                 "2 update 1: 0@0+0 1@0+0", "3 arrive 1@0", "3 dispatch 1@1",
                                 "5 arrive 0@0", "5 dispatch 0@1", "5 update 2: 1@0+1 0@0+1"});
}

TEST_CASE(
    "softsync: it is k-batch-async with K = floor(P/n), and with n = P async, event for event") {
  for (const auto* n : {"1", "2", "3", "8"}) {
    const std::string k = std::to_string(8 / std::stoi(n));
    CHECK(events(R"({"kind": "softsync", "n": )" + std::string(n) + "}", 8, 500) ==
          events(R"({"kind": "k-batch-async", "k": )" + k + "}", 8, 500));
  }
  CHECK(events(R"({"kind": "softsync", "n": 8})", 8, 2000) ==
        events(R"({"kind": "async"})", 8, 2000));
}

TEST_CASE("softsync: theory holds for three laws, n = 1, 3 and P, pull after and before") {
  for (const auto* n : {"1", "3", "8"}) {
    for (const auto* pull : {"after", "before"}) {
      check_theory(R"({"kind": "softsync", "n": )" + std::string(n) + R"(, "pull": ")" + pull +
                   R"("})");
    }
  }
}

TEST_CASE(
    "softsync: the staleness of all gradients adds up to updates x (P - 1) at every moment, x P if "
    "the pull comes before") {
  for (const auto* runtime :
       {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
    check_staleness(R"({"kind": "softsync", "n": 3})", 8, 2, 7, runtime);
    check_staleness(R"({"kind": "softsync", "n": 3, "pull": "before"})", 8, 2, 8, runtime);
  }
  check_staleness(R"({"kind": "softsync", "n": 8, "pull": "before"})", 8, 1, 8, exponential_1);
}

}  // namespace gradrace::softsync_test
