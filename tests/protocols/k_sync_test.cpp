#include <doctest/doctest.h>

#include "tests/support/schedule.h"

namespace gradrace::k_sync_test {

TEST_CASE("k-sync: K = 2, P = 3 cancels the slowest and restarts all (Fig. 4 worked by hand)") {
  CHECK(schedule(R"({"kind": "k-sync", "k": 2})", 3, {1, 2, 4, 3, 3.5, 1, 9, 9, 9}, 2) ==
        std::vector<std::string>{
            "0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0", "1 arrive 0@0", "2 arrive 1@0",
            "2 update 1: 0@0+0 1@0+0", "2 cancel 2@0", "2 dispatch 0@1", "2 dispatch 1@1",
            "2 dispatch 2@1", "3 arrive 2@1", "5 arrive 0@1", "5 update 2: 2@1+0 0@1+0",
            "5 cancel 1@1", "5 dispatch 0@2", "5 dispatch 1@2", "5 dispatch 2@2"});
}

TEST_CASE("k-sync: K = 4 of 8 exponentials takes 0.6345 an update") {
  check_iteration_time(R"({"kind": "k-sync", "k": 4})", 0.634523809523809);
}

TEST_CASE("k-sync: the closed forms of four laws hold over 1e6 updates") {
  const std::vector<double> half_percent(5, 0.005), two_percent(5, 0.02), simulated(5, 0.015);
  check_table(
      "k-sync",
      {{exponential_1, {0.125, 0.267857, 0.634524, 1.217857, 2.717857}, half_percent},
       {shifted_exponential_1_1, {1.125, 1.267857, 1.634524, 2.217857, 3.717857}, half_percent},
       {pareto_2_1, {1.0667, 1.1487, 1.3924, 1.9096, 5.0922}, two_percent},
       {hyperexponential_mean_1, {.070, .151, .369, .796, 4.37}, simulated}});
}

TEST_CASE("k-sync: theory holds for three laws") { check_theory(R"({"kind": "k-sync", "k": 3})"); }

TEST_CASE("k-sync: no gradient is ever stale") {
  check_staleness(R"({"kind": "k-sync", "k": 4})", 8, 4, 0, exponential_1);
}

}  // namespace gradrace::k_sync_test
