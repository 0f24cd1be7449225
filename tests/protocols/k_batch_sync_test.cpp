#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::k_batch_sync_test {

TEST_CASE(
    "k-batch-sync: who delivered starts again at the same version, and the update cancels and "
    "restarts all") {
  CHECK(schedule(R"({"kind": "k-batch-sync", "k": 3})", 3, {1, 2.5, 4, 1, 9, 1, 1, 1, 9, 9, 9},
                 1) == std::vector<std::string>{
                           "0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0", "1 arrive 0@0",
                           "1 dispatch 0@0", "2 arrive 0@0", "2 dispatch 0@0", "2.5 arrive 1@0",
                           "2.5 update 1: 0@0+0 0@0+0 1@0+0", "2.5 cancel 0@0", "2.5 cancel 2@0",
                           "2.5 dispatch 0@1", "2.5 dispatch 1@1", "2.5 dispatch 2@1"});
}

TEST_CASE("k-batch-sync: K = 4 of 8 exponentials takes 0.5 an update") {
  check_iteration_time(R"({"kind": "k-batch-sync", "k": 4})", 0.5);
}

TEST_CASE("k-batch-sync: the table of four laws holds over 1e6 updates") {
  const std::vector<double> half_percent(5, 0.005), simulated(5, 0.015);
  check_table(
      "k-batch-sync",
      {{exponential_1, {.125, .250, .500, .750, 1.000}, half_percent},
       {shifted_exponential_1_1, {1.125, 1.267, 1.630, 2.130, 2.672}, simulated},
       {pareto_2_1, {1.067, 1.147, 1.393, 1.816, 2.364}, {0.02, 0.015, 0.015, 0.015, 0.015}},
       {hyperexponential_mean_1, {.069, .140, .284, .432, .583}, simulated}});
}

TEST_CASE("k-batch-sync: K may exceed P") {
  // K exponential minibatches of P learners take K/P.
  const RunRecord record =
      run_timing(race_of(3, R"({"kind": "k-batch-sync", "k": 12})", R"({"updates": 50000})"));
  CHECK(record.totals.applied == 600000);
  const double measured = record.totals.last_update_time / 50000;
  CHECK(std::abs(measured - 4) <=
        4 * std::sqrt(12.0) / 3 / std::sqrt(50000.0));  // 4 standard errors of Erlang(12, 3)
}

TEST_CASE("k-batch-sync: theory holds for three laws, also for K > P") {
  check_theory(R"({"kind": "k-batch-sync", "k": 4})");
  check_theory(R"({"kind": "k-batch-sync", "k": 20})");
}

TEST_CASE("k-batch-sync: no gradient is ever stale") {
  check_staleness(R"({"kind": "k-batch-sync", "k": 4})", 8, 4, 0, exponential_1);
}

}  // namespace gradrace::k_batch_sync_test
