#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::clients_test {

namespace {

/// Who begins at each version.
class Rounds : public Observer {
 public:
  void on_dispatch(const GradientFacts& gradient, double) override {
    begun[gradient.version].push_back(gradient.learner);
  }

  std::map<std::uint32_t, std::vector<std::uint32_t>> begun;
};

}  // namespace

TEST_CASE("clients: every pair of five is drawn as often as every other") {
  const Race race = race_of(5, R"({"kind": "sync", "clients": 2})", R"({"updates": 20000})");
  Rounds rounds;
  run_timing(race, 0, &rounds);
  std::map<std::vector<std::uint32_t>, double> drawn;
  for (const auto& [version, learners] : rounds.begun) {
    REQUIRE(learners.size() == 2);
    REQUIRE(learners[0] < learners[1]);
    if (version < 20000) ++drawn[learners];
  }
  REQUIRE(drawn.size() == 10);
  double chi_squared = 0;
  for (const auto& [pair, count] : drawn) chi_squared += (count - 2000) * (count - 2000) / 2000;
  CHECK(chi_squared < 27.88);  // 99.9 % of 9 degrees of freedom
  Rounds others;
  run_timing(race, 1, &others);
  CHECK(others.begun != rounds.begun);
}

TEST_CASE("clients: an update takes the slowest that is drawn, or the K-th fastest") {
  check_iteration_time(R"({"kind": "sync", "clients": 3})", 1 + 1 / 2.0 + 1 / 3.0);
  check_iteration_time(R"({"kind": "k-sync", "k": 2, "clients": 4})", 1 / 4.0 + 1 / 3.0);
  check_theory(R"({"kind": "sync", "clients": 3})");
  check_theory(R"({"kind": "k-sync", "k": 2, "clients": 4})");
  const Theory theory =
      theory_of(race_of(8, R"({"kind": "sync", "clients": 3})", R"({"updates": 1})"));
  CHECK(std::abs(theory.iteration_time->value - (1 + 1 / 2.0 + 1 / 3.0)) <= 1e-9);
}

TEST_CASE("clients: as many as there are learners is no choice") {
  CHECK(events(R"({"kind": "sync", "clients": 6})", 6, 300) ==
        events(R"({"kind": "sync"})", 6, 300));
  CHECK(events(R"({"kind": "k-sync", "k": 2, "clients": 6})", 6, 300) ==
        events(R"({"kind": "k-sync", "k": 2})", 6, 300));
}

}  // namespace gradrace::clients_test
