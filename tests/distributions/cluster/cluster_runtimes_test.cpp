#include "distributions/cluster/cluster_runtimes.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "distributions/order_statistics.h"
#include "tests/support/clusters.h"
#include "tests/support/laws.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/stub_law.h"

namespace gradrace::cluster_runtimes_test {
namespace {

const std::string exponential = R"({"distribution": "exponential", "mean": 1})";

/// Everything that a cluster may have but windows, whose effect depends on when a minibatch begins.
const std::string all_but_windows = R"("runtimes": [{"distribution": "exponential", "mean": 1},
      {"distribution": "gamma", "shape": 4, "scale": 0.3}],
    "outliers": {"probability_law": {"distribution": "gamma", "shape": 3, "scale": 0.02},
      "runtime": {"distribution": "pareto", "scale": 2, "shape": 2}, "most": 50},
    "rate": 512, "speeds": [1, 2, 0.5],
    "persistence": {"kind": "markov", "factor": 5, "enter": 0.02, "leave": 0.1})";
const std::string windows =
    R"(, "windows": [{"start": 10, "length": 20, "factor": 3, "learners": [0, 2]},
                     {"start": 5, "length": 1, "every": 4, "factor": 2}])";

Point point_on(const std::string& cluster, std::uint32_t learners, const std::string& protocol,
               const std::string& stop) {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + ", " + cluster +
                    R"(}, "model": {"kind": "quadratic", "minibatch": 256},
                        "learning_rate": {"kind": "constant", "eta": 0.1}, "protocol": )" +
                    protocol + R"(, "stop": )" + stop + "}");
}

double iteration_time(const RunRecord& record) {
  return record.totals.last_update_time / static_cast<double>(record.totals.updates);
}

/// Over 30 replicas.
Mean mean_iteration_time(const Race& race) {
  Mean mean;
  for (std::uint32_t replica = 0; replica < 30; ++replica) {
    mean.add(iteration_time(run_timing(race, replica)));
  }
  return mean;
}

TEST_CASE("cluster runtimes: the parts act in their order, worked by hand") {
  const auto times = runtimes_of(R"({"runtimes": [{"distribution": "deterministic", "value": 2},
                                                  {"distribution": "deterministic", "value": 3}],
      "rate": 10, "speeds": [1, 2, 5],
      "persistence": {"kind": "markov", "factor": 4, "enter": 1, "leave": 0},
      "windows": [{"start": 100, "factor": 3}]})");
  // (X + m / rate) * 4 / speed; laws of two and speeds of three learners in turn.
  CHECK(times->duration(0, 0, 0, 5) == (2 + 0.5) * 4);
  CHECK(times->duration(1, 0, 0, 5) == (3 + 0.5) * 4 / 2);
  CHECK(times->duration(2, 0, 0, 10) == (2 + 1.0) * 4 / 5);
  CHECK(times->duration(3, 0, 0, 10) == (3 + 1.0) * 4);
  CHECK(times->duration(4, 0, 0, 10) == (2 + 1.0) * 4 / 2);
  CHECK(times->duration(5, 0, 0, 10) == (3 + 1.0) * 4 / 5);
  // 10 of work, of which 4 are done before the window opens.
  CHECK(times->duration(0, 1, 96, 5) == 4 + 6 * 3);

  const auto outliers = runtimes_of(R"({"runtime": {"distribution": "deterministic", "value": 2},
      "outliers": {"probability": 1, "runtime": {"distribution": "deterministic", "value": 8}},
      "rate": 10, "speeds": 2})");
  CHECK(outliers->duration(7, 3, 0, 5) == (8 + 0.5) / 2);
}

TEST_CASE("cluster runtimes: slow learners take factor times as long, and speeds divide that") {
  const auto times = runtimes_of(R"({"runtime": {"distribution": "deterministic", "value": 2},
      "speeds": [1, 4], "slow": {"learners": [5, 0, 5], "factor": 3}})");
  const double expected[] = {6, 0.5, 2, 0.5, 2, 1.5, 2, 0.5};
  for (std::uint32_t learner = 0; learner < 8; ++learner)
    CHECK(times->duration(learner, 0, 0, 1) == doctest::Approx(expected[learner]));
  const auto cluster =
      cluster_of(R"({"runtime": )" + exponential + R"(, "slow": {"learners": [1], "factor": 3}})");
  CHECK(cluster->differences(8, 1).front().key == "slow");
  CHECK(cluster->differences(1, 1).empty());
}

TEST_CASE("cluster runtimes: independent draws of one law need none") {
  const auto is_plain = [](const std::string& more) {
    return !make_cluster_runtimes(cluster_of(R"({"runtime": )" + exponential + more + "}"), 8);
  };
  CHECK(is_plain(""));
  CHECK(is_plain(R"(, "speeds": 1)"));
  CHECK(is_plain(R"(, "windows": [])"));
  CHECK_FALSE(is_plain(R"(, "speeds": [1, 2])"));
  CHECK_FALSE(is_plain(R"(, "speeds": 2)"));
  CHECK_FALSE(is_plain(R"(, "rate": 100)"));
  CHECK_FALSE(is_plain(R"(, "windows": [{"start": 0, "factor": 2}])"));
  CHECK_FALSE(is_plain(R"(, "persistence": {"kind": "ar1", "correlation": 0, "sd": 0})"));
  CHECK_FALSE(is_plain(R"(, "outliers": {"probability": 0, "runtime": )" + exponential + "}"));
}

/// A law that counts.
class Remembering : public StubLaw {
 public:
  double sample(Stream&) const override { return -1; }
  double draw(const StreamName& name) const override { return 100 * name.learner + name.draw; }
  bool has_memory() const override { return true; }
};

TEST_CASE("cluster runtimes: a law with a memory is drawn from by name and is no common law") {
  const auto cluster = std::make_shared<ClusterRuntimes>();
  cluster->laws = {std::make_shared<Remembering>()};
  CHECK(cluster->common_law(8, 1) == nullptr);
  const auto make = make_cluster_runtimes(cluster, 8);
  REQUIRE(make);
  CHECK(make(1, 0)->duration(5, 3, 0, 1) == 503);
}

/// Hands on what other runtimes say, and notes it.
class Noted : public Runtimes {
 public:
  using Durations = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;
  Noted(std::unique_ptr<Runtimes> inner, Durations& durations)
      : inner_(std::move(inner)), durations_(durations) {}
  double duration(std::uint32_t learner, std::uint32_t draw, double begin,
                  std::uint32_t samples) override {
    const double time = inner_->duration(learner, draw, begin, samples);
    REQUIRE(durations_.emplace(std::pair{learner, draw}, time).second);
    return time;
  }

 private:
  std::unique_ptr<Runtimes> inner_;
  Durations& durations_;
};

TEST_CASE("cluster runtimes: the n-th minibatch of a learner takes the same time everywhere") {
  Noted::Durations seen;
  std::size_t compared = 0;
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    Race race = point_on(all_but_windows, 6, protocol, R"({"updates": 2000})").race();
    Noted::Durations durations;
    race.make_runtimes = [inner = race.make_runtimes, &durations](std::uint64_t seed,
                                                                  std::uint32_t replica) {
      return std::make_unique<Noted>(inner(seed, replica), durations);
    };
    run_timing(race);
    for (const auto& [draw, time] : durations) {
      const auto [found, is_new] = seen.emplace(draw, time);
      if (is_new) continue;
      REQUIRE(std::bit_cast<std::uint64_t>(found->second) == std::bit_cast<std::uint64_t>(time));
      ++compared;
    }
  }
  CHECK(compared > 10'000);
}

TEST_CASE("cluster runtimes: a run is the same to the last bit wherever its segments end") {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    const Race race =
        point_on(all_but_windows + windows, 6, protocol, R"({"updates": 500})").race();
    TimingPlane short_ones(race, 3, true, nullptr, 1), long_ones(race, 3, true, nullptr);
    while (short_ones.next_segment().end != End::finished) {
    }
    while (long_ones.next_segment().end != End::finished) {
    }
    CHECK(bits(short_ones.totals().time) == bits(long_ones.totals().time));
    for (std::uint32_t learner = 0; learner < 6; ++learner) {
      CHECK(bits(short_ones.learner_totals()[learner].busy) ==
            bits(long_ones.learner_totals()[learner].busy));
    }
    TimingPlane other(race, 4, true, nullptr);
    while (other.next_segment().end != End::finished) {
    }
    CHECK(other.totals().time != long_ones.totals().time);
  }
}

// Renewal: learner l makes speed_l / E[X] updates per unit of time.
TEST_CASE("async: updates come at the sum of the learners' rates") {
  const auto deterministic = [](const std::string& protocol) {
    return point_on(R"("runtime": {"distribution": "deterministic", "value": 1},
                       "speeds": [1, 2, 4])",
                    3, protocol, R"({"time": 10.6})")
        .race();
  };
  CHECK(run_timing(deterministic(R"({"kind": "async"})")).totals.updates == 10 + 21 + 42);

  const Race race = point_on(R"("speeds": [1, 2, 4, 0.5], "runtime": )" + exponential, 8,
                             R"({"kind": "async"})", R"({"updates": 50000})")
                        .race();
  const Mean mean = mean_iteration_time(race);
  CHECK(mean.agrees(1 / (2 * (1 + 2 + 4 + 0.5))));
  CHECK(mean.error() < 0.002 * mean.value());
}

/// Integral of 1 - F1^a F2^b, F1 and F2 exponential with rates 1 and r: Simpson's rule, 6,000
/// steps.
double mean_of_slowest(int a, int b, double r) {
  const auto missing = [&](double t) {
    return 1 - std::pow(-std::expm1(-t), a) * std::pow(-std::expm1(-r * t), b);
  };
  constexpr int steps = 6000;
  constexpr double width = 60.0 / steps;
  double sum = missing(0) + missing(60);
  for (int i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4 : 2) * missing(i * width);
  return sum * width / 3;
}

TEST_CASE("cluster runtimes: a minibatch of the fastest learner") {
  const auto fastest = [](const std::string& cluster, std::uint32_t learners) {
    return point_on(cluster, learners, R"({"kind": "async"})", R"({"updates": 1})")
        .cluster.runtimes.fastest(learners, 256);
  };
  const std::string laws = R"("runtimes": [{"distribution": "deterministic", "value": 3},
      {"distribution": "pareto", "scale": 2, "shape": 2}])";
  const std::string unlike = laws + R"(, "speeds": [1, 2, 40])";
  CHECK(fastest(laws, 1) == doctest::Approx(3).epsilon(1e-12));
  CHECK(fastest(laws + R"(, "speeds": [1, 2])", 2) == doctest::Approx(4.0 / 2).epsilon(1e-12));
  CHECK(fastest(unlike, 3) == doctest::Approx(3.0 / 40).epsilon(1e-12));
  CHECK(fastest(unlike + R"(, "rate": 512)", 3) == doctest::Approx(3.5 / 40).epsilon(1e-12));
  CHECK(fastest(unlike, 6) == doctest::Approx(3.0 / 40).epsilon(1e-12));
}

TEST_CASE("cluster runtimes: with a rate unlike minibatches take unlike times") {
  const PerLearner rows(std::vector<std::uint32_t>{64, 128, 64});
  const auto runtimes = [](const std::string& more) {
    return point_on(R"("runtime": {"distribution": "exponential", "mean": 1})" + more, 3,
                    R"({"kind": "async"})", R"({"updates": 1})")
        .cluster.runtimes;
  };
  const ClusterRuntimes same = runtimes("");
  CHECK(same.differences(3, rows).empty());
  CHECK(same.common_law(3, rows) != nullptr);
  const ClusterRuntimes rated = runtimes(R"(, "rate": 32)");
  CHECK(rated.differences(3, rows).front().key == "rate");
  CHECK(rated.common_law(3, rows) == nullptr);
  CHECK(rated.common_law(3, 64)->mean() == doctest::Approx(3).epsilon(1e-12));
  CHECK(rated.means(3, rows) == std::vector<double>{3, 5, 3});
  CHECK(rated.fastest(3, rows) == 3);
  double mean = 0;  // of the slowest: 1 - F of all, by the midpoint rule
  constexpr double width = 1e-3;
  for (double t = width / 2; t < 60; t += width) {
    const auto below = [&](double first) { return t < first ? 0 : -std::expm1(first - t); };
    mean += width * (1 - below(2) * below(2) * below(4));
  }
  constexpr double any = std::numeric_limits<double>::infinity();
  CHECK(*rated.slowest(3, rows, 1, any) == doctest::Approx(mean).epsilon(1e-6));
}

TEST_CASE("sync: two groups of learners wait for the slowest of both") {
  CHECK(mean_of_slowest(8, 0, 1) == doctest::Approx(harmonic_difference(8, 8)).epsilon(1e-9));
  CHECK(mean_of_slowest(0, 8, 4) == doctest::Approx(harmonic_difference(8, 8) / 4).epsilon(1e-9));
  const auto sync_on = [](const std::string& cluster) {
    return point_on(cluster, 8, R"({"kind": "sync"})", R"({"updates": 5000})").race();
  };
  const Mean by_speed =
      mean_iteration_time(sync_on(R"("speeds": [4, 4, 1, 4], "runtime": )" + exponential));
  CHECK(by_speed.agrees(mean_of_slowest(2, 6, 4)));
  CHECK(by_speed.error() < 0.005 * by_speed.value());
  const Mean by_law = mean_iteration_time(
      sync_on(R"("runtimes": [)" + exponential + R"(, {"distribution": "exponential", "mean": 0.5},
                              {"distribution": "exponential", "mean": 0.5}])"));
  CHECK(by_law.agrees(mean_of_slowest(3, 5, 2)));
}

// Of a time X F: E[X]^2 Cov(F, F') / (E[X^2] E[F^2] - E[X]^2 E[F]^2); 20,000 learners.
TEST_CASE("cluster runtimes: times that remember are correlated as their factors say") {
  constexpr double sd2 = 0.25, rho = 0.8;
  const auto times = runtimes_of(R"({"runtime": )" + exponential +
                                     R"(, "persistence": {"kind": "ar1", "correlation": 0.8,
                                                          "sd": 0.5}})",
                                 20'000);
  Mean product;
  for (std::uint32_t learner = 0; learner < 20'000; ++learner) {
    const double first = times->duration(learner, 4, 0, 1);
    product.add((first - 1) * (times->duration(learner, 5, 0, 1) - 1) / (2 * std::exp(sd2) - 1));
  }
  CHECK(product.agrees(std::expm1(rho * sd2) / (2 * std::exp(sd2) - 1)));
}

// Where minibatches are slow for a share s of the time, a learner never idle does 1 - s + s /
// factor of the work.
TEST_CASE("async: repeated windows take their share of the updates") {
  const Race race = point_on(R"("windows": [{"start": 0, "length": 3, "every": 8, "factor": 4}],
                                "runtime": )" +
                                 exponential,
                             8, R"({"kind": "async"})", R"({"time": 8000})")
                        .race();
  Mean updates;
  for (std::uint32_t replica = 0; replica < 30; ++replica) {
    updates.add(static_cast<double>(run_timing(race, replica).totals.updates));
  }
  CHECK(updates.agrees(8 * 8000 * (5.0 / 8 + 3.0 / 8 / 4)));
}

TEST_CASE("theory: it knows iteration times where minibatches are draws of one law") {
  const auto theory_on = [](const std::string& cluster, const std::string& protocol) {
    return point_on(cluster, 4, protocol, R"({"updates": 20000})").theory();
  };
  const auto value = [&](const std::string& cluster, const std::string& protocol) {
    const Theory theory = theory_on(cluster, protocol);
    REQUIRE(theory.iteration_time);
    return theory.iteration_time->value;
  };
  const std::string law = R"("runtime": )" + exponential;
  const auto* sync = R"({"kind": "sync"})";
  const auto* async = R"({"kind": "async"})";
  const double h4 = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0;
  CHECK(value(law, sync) == doctest::Approx(h4).epsilon(1e-14));
  CHECK(value(law + R"(, "rate": 512)", sync) == doctest::Approx(0.5 + h4).epsilon(1e-14));
  CHECK(value(law + R"(, "rate": 512, "speeds": [2, 2, 2])", sync) ==
        doctest::Approx((0.5 + h4) / 2).epsilon(1e-14));
  CHECK(value(law + R"(, "speeds": [2, 2, 2, 2, 1])", async) == 1 / 8.0);  // of four learners
  const auto mixed = law + R"(, "outliers": {"probability": 0.25,
                                "runtime": {"distribution": "deterministic", "value": 9}})";
  CHECK(value(mixed, async) == doctest::Approx((0.75 + 0.25 * 9) / 4).epsilon(1e-14));
  const auto same = law_of(R"({"distribution": "mixture", "weights": [3, 1], "parts": [)" +
                           exponential + R"(, {"distribution": "deterministic", "value": 9}]})");
  CHECK(value(mixed, sync) == same->expected_order_statistic(4, 4));
  for (const auto& cluster : {law + R"(, "rate": 512, "speeds": 2)", mixed}) {
    const Race race = point_on(cluster, 4, sync, R"({"updates": 5000})").race();
    CHECK(mean_iteration_time(race).agrees(value(cluster, sync)));
  }

  for (const auto* more :
       {R"(, "windows": [{"start": 9, "factor": 2}])",
        R"(, "persistence": {"kind": "ar1", "correlation": 0, "sd": 1})",
        R"(, "outliers": {"probability": 0.1, "most": 2,
             "runtime": {"distribution": "deterministic", "value": 9}})",
        R"(, "outliers": {"probability_law": {"distribution": "deterministic", "value": 0.1},
             "runtime": {"distribution": "deterministic", "value": 9}})"}) {
    CAPTURE(std::string(more));
    const Theory theory = theory_on(law + more, R"({"kind": "k-async", "k": 2})");
    CHECK_FALSE(theory.iteration_time);
    CHECK(theory.staleness == 1.0);
  }
  const std::string of_each = R"("runtimes": [)" + exponential + ", " + exponential + "]";
  CHECK(value(of_each, sync) == doctest::Approx(h4).epsilon(1e-9));
  const auto* two = R"({"kind": "k-sync", "k": 2})";
  CHECK(value(of_each, two) == doctest::Approx(1 / 4.0 + 1 / 3.0).epsilon(1e-9));
  const Theory unlike = theory_on(law + R"(, "speeds": [1, 2])", R"({"kind": "k-async", "k": 2})");
  REQUIRE(unlike.iteration_time);
  CHECK(unlike.iteration_time->value == doctest::Approx(2 / 6.0));  // never idle
  CHECK(unlike.iteration_time->basis == Basis::lower);
}

}  // namespace
}  // namespace gradrace::cluster_runtimes_test
