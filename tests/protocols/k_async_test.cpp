#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::k_async_test {

TEST_CASE(
    "k-async: K = 2, P = 3: who delivered waits for the update, the others go on (Fig. 4 worked by "
    "hand)") {
  CHECK(schedule(R"({"kind": "k-async", "k": 2})", 3, {1, 2, 4, 3, 3.5, 9, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "1 arrive 0@0", "2 arrive 1@0", "2 update 1: 0@0+0 1@0+0",
                                 "2 dispatch 0@1", "2 dispatch 1@1", "4 arrive 2@0", "5 arrive 0@1",
                                 "5 update 2: 2@0+1 0@1+0", "5 dispatch 0@2", "5 dispatch 2@2"});
}

TEST_CASE("k-async: K = 4 of 8 exponentials takes 0.6345 an update") {
  check_iteration_time(R"({"kind": "k-async", "k": 4})", 0.634523809523809);
}

TEST_CASE("k-async: the table of four laws holds over 1e6 updates") {
  const std::vector<double> half_percent(5, 0.005), simulated(5, 0.015);
  check_table("k-async",
              {{exponential_1, {0.125, 0.267857, 0.634524, 1.217857, 2.717857}, half_percent},
               {shifted_exponential_1_1,
                {.250, .534, 1.239, 2.053, 3.717857},
                {.005, .015, .015, .015, .005}},
               {pareto_2_1, {.250, .535, 1.233, 2.068, 5.0922}, {.02, .015, .015, .015, .02}},
               {hyperexponential_mean_1, {.124, .271, .654, 1.393, 4.37}, simulated}});
}

TEST_CASE("k-async: theory holds for three laws at K = 1, 4 and P") {
  for (const auto* k : {"1", "4", "8"})
    check_theory(R"({"kind": "k-async", "k": )" + std::string(k) + "}");
}

TEST_CASE("k-async: the staleness of all gradients adds up to updates x (P - K) at every moment") {
  for (const auto* runtime :
       {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
    check_staleness(R"({"kind": "k-async", "k": 4})", 8, 4, 4, runtime);
  }
  check_staleness(R"({"kind": "k-async", "k": 2})", 3, 2, 1, exponential_1);
}

TEST_CASE("k-async: a share of K/P of the gradients is fresh when runtimes are exponential") {
  const RunRecord record =
      run_timing(race_of(8, R"({"kind": "k-async", "k": 4})", R"({"updates": 250000})"));
  CHECK(std::abs(static_cast<double>(record.staleness_counts[0]) / 1e6 - 0.5) <= 0.005);
}

TEST_CASE("k-async: K = P is sync and K = 1 is async, event for event") {
  const auto same = [](const std::string& a, const std::string& b) {
    const auto x = run_timing(race_of(8, a, R"({"updates": 1000})")),
               y = run_timing(race_of(8, b, R"({"updates": 1000})"));
    CHECK(x.totals.time == y.totals.time);
    CHECK(x.staleness_counts == y.staleness_counts);
  };
  same(R"({"kind": "k-async", "k": 8})", R"({"kind": "sync"})");
  same(R"({"kind": "k-async", "k": 1})", R"({"kind": "async"})");
}

}  // namespace gradrace::k_async_test
