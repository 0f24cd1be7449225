#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "protocols/groups/graph.h"
#include "tests/support/iteration_time.h"
#include "tests/support/mean.h"
#include "tests/support/schedule.h"

namespace gradrace::ad_psgd_theory_test {

namespace {

std::string ad_psgd(const std::string& more = "") {
  return R"({"kind": "ad-psgd", "graph": "bipartite-exponential")" + more + "}";
}

Point point_of(std::uint32_t learners, const std::string& protocol, const std::string& cluster,
               std::uint64_t updates = 20000) {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + ", " + cluster +
                    R"(}, "protocol": )" + protocol + R"(, "stop": {"updates": )" +
                    std::to_string(updates) + "}}");
}

/// The mean staleness of so many gradients of learners with exponential minibatches of those rates,
/// which overlap with exchanges that take no time: ages of values alone, event by event.
double staleness_of_a_loop(const std::vector<double>& rates, std::uint32_t seed,
                           std::uint32_t gradients) {
  const auto P = static_cast<std::uint32_t>(rates.size());
  const Graph graph("bipartite-exponential", P);
  Stream words = stream({seed, 0, Purpose::dataset, 0, 0});
  const auto uniform = [&] { return (words() + 0.5) / 0x1p32; };
  double all = 0, sum = 0;
  for (const double rate : rates) all += rate;
  std::vector<std::uint32_t> age(P), read(P);
  for (std::uint32_t n = 0; n < gradients; ++n) {
    std::uint32_t ready = 0;
    for (double at = uniform() * all; ready + 1 < P && at >= rates[ready]; ++ready)
      at -= rates[ready];
    const std::uint32_t used = read[ready];
    read[ready] = age[ready];
    if (ready % 2 == 1) {
      const auto others = graph.hears(ready);
      ++age[others[uniform_below(words, static_cast<std::uint32_t>(others.size()))]];
      ++age[ready];
    }
    sum += age[ready]++ - used;
  }
  return sum / gradients;
}

/// 30 runs of 20,000 gradients each.
void check_staleness_of_runs(const Point& point, double expected) {
  Mean mean;
  for (std::uint32_t replica = 0; replica < 30; ++replica) {
    const Totals totals = run_timing(point.race(), replica).totals;
    mean.add(static_cast<double>(totals.staleness_sum) / static_cast<double>(totals.applied));
  }
  CAPTURE(mean.value());
  CAPTURE(expected);
  CHECK(mean.agrees(expected));
  CHECK(mean.error() <= 0.005 * expected);
}

const std::string exponential = R"("runtime": {"distribution": "exponential", "mean": 1})";

}  // namespace

TEST_CASE("theory of ad-psgd: staleness where exchanges take no time, against a loop and runs") {
  const std::vector<std::vector<double>> speeds{
      {1, 1}, {1, 1, 1}, std::vector<double>(8, 1), {1, 3, 0.5, 2, 1, 1}, {4, 1, 1, 0.25, 2}};
  for (const auto& rates : speeds) {
    std::string list;
    for (const double rate : rates) list += (list.empty() ? "" : ", ") + std::to_string(rate);
    CAPTURE(list);
    const auto P = static_cast<std::uint32_t>(rates.size());
    const Point point = point_of(P, ad_psgd(), exponential + R"(, "speeds": [)" + list + "]");
    const Theory theory = point.theory();
    REQUIRE(theory.staleness);
    Mean loop;
    for (std::uint32_t seed = 1; seed <= 30; ++seed)
      loop.add(staleness_of_a_loop(rates, seed, 20000));
    CAPTURE(loop.value());
    CHECK(loop.agrees(*theory.staleness));
    CHECK(loop.error() <= 0.005 * *theory.staleness);
    check_staleness_of_runs(point, *theory.staleness);
    CHECK(theory.iteration_time->basis == Basis::exact);
    check_iteration_time(point.race(), theory.iteration_time->value);
  }
}

// Two ask and two answer: (4 x 2 + 2) / 4.  With an odd number one more answers.
TEST_CASE("theory of ad-psgd: equal learners by hand, whatever the law") {
  for (const std::string& law :
       {exponential, std::string(R"("runtime": {"distribution": "gamma", "shape": 9, "scale": 1})"),
        std::string(R"("runtime": {"distribution": "lognormal", "mu": 0, "sigma": 0.5})")}) {
    CAPTURE(law);
    CHECK(*point_of(4, ad_psgd(), law).theory().staleness == doctest::Approx(2.5).epsilon(1e-12));
    CHECK(*point_of(5, ad_psgd(), law).theory().staleness == doctest::Approx(2.2).epsilon(1e-12));
    check_staleness_of_runs(point_of(4, ad_psgd(), law), 2.5);
  }
}

TEST_CASE("theory of ad-psgd: nothing is said of staleness where learners may be ready at once") {
  for (const auto* law :
       {R"({"distribution": "deterministic", "value": 1})",
        R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 0.5})",
        R"({"distribution": "mixture", "weights": [1, 1], "parts": [
                              {"distribution": "exponential", "mean": 1},
                              {"distribution": "deterministic", "value": 1}]})"}) {
    const Theory theory = point_of(4, ad_psgd(), R"("runtime": )" + std::string(law)).theory();
    CHECK_FALSE(theory.staleness);
    CHECK(theory.iteration_time->basis == Basis::exact);
  }
  CHECK_FALSE(point_of(4, ad_psgd(R"(, "pair_cost": 0.1)"), exponential).theory().staleness);
  CHECK_FALSE(point_of(4, ad_psgd(R"(, "overlap": false)"), exponential).theory().staleness);
}

TEST_CASE("theory of ad-psgd: a bound where learners wait") {
  for (const auto* speeds : {"[1]", "[1, 0.2, 1, 1, 1, 1, 3, 1]"}) {
    for (const auto* overlap : {"true", "false"}) {
      for (const auto* cost : {"0", "0.3", "2"}) {
        CAPTURE(cost);
        CAPTURE(overlap);
        const std::string more =
            R"(, "overlap": )" + std::string(overlap) + R"(, "pair_cost": )" + cost;
        const Point point =
            point_of(8, ad_psgd(more), exponential + R"(, "speeds": )" + speeds, 100000);
        const Estimate bound = *point.theory().iteration_time;
        const bool exact = std::string(overlap) == "true" && std::string(cost) == "0";
        CHECK(bound.basis == (exact ? Basis::exact : Basis::lower));
        CHECK(iteration_time(run_timing(point.race())) >= 0.99 * bound.value);
      }
    }
  }
}

// Two learners with exchanges of 4: one asks again when the last exchange ends, every 4, the other
// takes a minibatch at a time, at best.
TEST_CASE("theory of ad-psgd: the bound by hand") {
  const Theory theory = point_of(2, ad_psgd(R"(, "pair_cost": 4)"), exponential).theory();
  CHECK(theory.iteration_time->value == doctest::Approx(1 / (1 / 4.0 + 1)).epsilon(1e-12));
  CHECK(*theory.exchange_time == 4);
  const Theory in_turn =
      point_of(2, ad_psgd(R"(, "pair_cost": 4, "overlap": false)"), exponential).theory();
  CHECK(in_turn.iteration_time->value == doctest::Approx(1 / (1 / 5.0 + 1)).epsilon(1e-12));
}

TEST_CASE("theory of ad-psgd: nothing is said of graphs on which learners come to a standstill") {
  const Theory theory =
      point_of(8, R"({"kind": "ad-psgd", "graph": "ring"})", exponential).theory();
  CHECK_FALSE(theory.iteration_time);
  CHECK_FALSE(theory.staleness);
}

}  // namespace gradrace::ad_psgd_theory_test
