#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::k_batch_async_test {

TEST_CASE(
    "k-batch-async: K = 2, P = 3: who is first starts a second block on w_0 (Fig. 4 worked by "
    "hand)") {
  CHECK(schedule(R"({"kind": "k-batch-async", "k": 2})", 3, {1, 2, 4, 2.5, 9, 9, 9}, 2) ==
        std::vector<std::string>{
            "0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0", "1 arrive 0@0", "1 dispatch 0@0",
            "2 arrive 1@0", "2 update 1: 0@0+0 1@0+0", "2 dispatch 1@1", "3.5 arrive 0@0",
            "3.5 dispatch 0@1", "4 arrive 2@0", "4 update 2: 0@0+1 2@0+1", "4 dispatch 2@2"});
}

TEST_CASE("k-batch-async: K = 4 of 8 exponentials takes 0.5 an update") {
  check_iteration_time(R"({"kind": "k-batch-async", "k": 4})", 0.5);
}

TEST_CASE("k-batch-async: K E[X]/P for every law over 1e6 updates") {
  const std::vector<double> half_percent(5, 0.005), two_percent(5, 0.02);
  check_table("k-batch-async",
              {{exponential_1, {.125, .250, .500, .750, 1.000}, half_percent},
               {shifted_exponential_1_1, {.25, .50, 1.0, 1.5, 2.0}, half_percent},
               {pareto_2_1, {.25, .50, 1.0, 1.5, 2.0}, two_percent},
               {hyperexponential_mean_1, {.125, .25, .50, .75, 1.0}, half_percent}});
}

TEST_CASE("k-batch-async: theory holds for three laws, also for K > P") {
  for (const auto* k : {"1", "4", "20"})
    check_theory(R"({"kind": "k-batch-async", "k": )" + std::string(k) + "}");
}

TEST_CASE(
    "k-batch-async: the staleness of all gradients adds up to updates x (P - 1) at every moment") {
  for (const auto* runtime :
       {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
    check_staleness(R"({"kind": "k-batch-async", "k": 4})", 8, 4, 7, runtime);
  }
  check_staleness(R"({"kind": "k-batch-async", "k": 20})", 8, 20, 7, exponential_1);
}

TEST_CASE(
    "k-batch-async: the share of fresh gradients is (1/K) sum_l (1 - (1 - 1/P)^l), 0.2758 at P = "
    "8, K = 4") {
  const RunRecord record =
      run_timing(race_of(8, R"({"kind": "k-batch-async", "k": 4})", R"({"updates": 250000})"));
  CHECK(std::abs(static_cast<double>(record.staleness_counts[0]) / 1e6 - 0.2758) <=
        0.002758);  // 1 %
}

}  // namespace gradrace::k_batch_async_test
