#include "analysis/theory/quadratic_theory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/race_text.h"

namespace gradrace::quadratic_theory_test {

namespace {

/// F(w) = w^2 / 2, noise of variance 1.
NoisyQuadratic unit_quadratic() { return {.directions = {{1, 1}}, .start = 0, .variance = 1}; }

/// q / (2 (1 - q)): async with exponential runtimes, c = 1, noise 1, solved by hand.
double async_floor(double p, double eta) {
  const double q = eta * (1 + p * eta) / (2 * (1 + eta));
  return q / (2 * (1 - q));
}

/// Every order in which gradients may arrive, one after another, w as its coefficients in w_0 and
/// in the noise of each gradient: E[w^2] after each update is a mean over orders of sums of
/// squares.
class Orders {
 public:
  Orders(const MemorylessRace& race, double eta, double curvature, double variance, double start)
      : race_(race), eta_(eta), curvature_(curvature), variance_(variance), start_(start) {}

  std::vector<double> mean_squares(std::uint32_t updates) {
    sums_.assign(updates + 1, 0.0);
    const std::vector<double> w(1 + updates * race_.k, 0.0);
    State state{w, {}, w, {}, 0};
    state.w[0] = 1;
    state.read.assign(race_.learners, state.w);
    sums_[0] = start_ * start_;
    go(state, 1);
    return sums_;
  }

 private:
  struct State {
    std::vector<double> w;
    std::vector<std::vector<double>> read;  // [learner]
    std::vector<double> gradients;          // their sum since the last update
    std::vector<std::uint32_t> waiting;     // learners
    std::uint32_t arrived;
  };

  void go(const State& state, double probability) {
    if (state.arrived + 1 == state.w.size()) return;
    std::vector<std::uint32_t> computing;
    for (std::uint32_t i = 0; i < race_.learners; ++i) {
      const auto& waiting = state.waiting;
      if (std::find(waiting.begin(), waiting.end(), i) == waiting.end()) computing.push_back(i);
    }
    const double each = probability / static_cast<double>(computing.size());
    for (const auto i : computing) arrive(state, i, each);
  }

  void arrive(State state, std::uint32_t learner, double probability) {
    for (std::size_t n = 0; n < state.w.size(); ++n)
      state.gradients[n] += curvature_ * state.read[learner][n];
    state.gradients[++state.arrived] += 1;
    if (race_.reading == ReadOrder::before_update) state.read[learner] = state.w;
    if (race_.reading == ReadOrder::together) state.waiting.push_back(learner);
    if (state.arrived % race_.k == 0) {
      double square = 0;
      for (std::size_t n = 0; n < state.w.size(); ++n) {
        state.w[n] -= eta_ / race_.k * state.gradients[n];
        state.gradients[n] = 0;
        square += state.w[n] * state.w[n] * (n == 0 ? start_ * start_ : variance_);
      }
      sums_[state.arrived / race_.k] += probability * square;
      for (const auto i : state.waiting) state.read[i] = state.w;
      state.waiting.clear();
    }
    if (race_.reading == ReadOrder::after_arrival) state.read[learner] = state.w;
    go(state, probability);
  }

  MemorylessRace race_;
  double eta_, curvature_, variance_, start_;
  std::vector<double> sums_;
};

}  // namespace

TEST_CASE("quadratic theory: the moments are the means over every order of arrival") {
  for (const MemorylessRace& race : {MemorylessRace{ReadOrder::together, 2, 3},
                                     {ReadOrder::together, 3, 4},
                                     {ReadOrder::after_arrival, 1, 3},
                                     {ReadOrder::after_arrival, 2, 3},
                                     {ReadOrder::after_arrival, 3, 2},
                                     {ReadOrder::before_update, 1, 3},
                                     {ReadOrder::before_update, 2, 3},
                                     {ReadOrder::before_update, 3, 2}}) {
    const std::uint32_t updates = race.k == 1 ? 8 : race.k == 2 ? 4 : 3;
    const auto expected = Orders(race, 0.7, 0.9, 0.3, 2).mean_squares(updates);
    std::vector<std::uint64_t> places;
    for (std::uint64_t j = 0; j <= updates; ++j) places.push_back(j);
    const NoisyQuadratic quadratic{.directions = {{0.9, 1}}, .start = 2, .variance = 0.3};
    const auto losses = memoryless_losses(quadratic, race, 0.7, places);
    for (std::size_t j = 0; j <= updates; ++j) {
      CAPTURE(race.k);
      CAPTURE(race.learners);
      CAPTURE(j);
      CHECK(losses[j] == doctest::Approx(0.9 * expected[j] / 2).epsilon(1e-11));
    }
  }
}

TEST_CASE("quadratic theory: the floors of a unit quadratic at P = 8") {
  const auto quadratic = unit_quadratic();
  const auto stale = [&](ReadOrder reading, std::uint32_t k, double eta) {
    return memoryless_floor(quadratic, {reading, k, 8}, eta).value();
  };
  const auto near = [](double value, double expected, double share) {
    CAPTURE(expected);
    CHECK(std::abs(value - expected) <= share * expected);
  };
  // Fresh: to the digits given.  Stale: simulated values of two and three digits, within 4 %.
  near(fresh_floor(quadratic, 8, 0.005).value(), 1.57e-4, 0.004);
  near(fresh_floor(quadratic, 8, 0.05).value(), 1.60e-3, 0.004);
  near(fresh_floor(quadratic, 1, 0.05).value(), 1.28e-2, 0.004);
  near(stale(ReadOrder::together, 4, 0.005), 3.1e-4, 0.04);
  near(stale(ReadOrder::after_arrival, 1, 0.005), 1.34e-3, 0.04);
  near(stale(ReadOrder::together, 4, 0.05), 3.4e-3, 0.04);
  near(stale(ReadOrder::after_arrival, 4, 0.05), 3.6e-3, 0.04);
  near(stale(ReadOrder::after_arrival, 1, 0.05), 1.73e-2, 0.04);
}

TEST_CASE("quadratic theory: floors agree where two protocols are one") {
  const auto quadratic = unit_quadratic();
  for (const double eta : {0.005, 0.05, 0.3}) {
    for (const std::uint32_t p : {1u, 2u, 8u, 50u}) {
      CAPTURE(eta);
      CAPTURE(p);
      const auto floor = [&](ReadOrder reading, std::uint32_t k) {
        return memoryless_floor(quadratic, {reading, k, p}, eta);
      };
      const auto async = floor(ReadOrder::after_arrival, 1);
      CHECK(async.has_value() == (eta * (1 + p * eta) < 2 * (1 + eta)));
      if (!async) continue;
      CHECK(*async == doctest::Approx(async_floor(p, eta)).epsilon(1e-9));
      CHECK(floor(ReadOrder::together, 1).value() == doctest::Approx(*async).epsilon(1e-9));
      const double sync = fresh_floor(quadratic, p, eta).value();
      CHECK(floor(ReadOrder::together, p).value() == doctest::Approx(sync).epsilon(1e-9));
      CHECK(*async >= fresh_floor(quadratic, 1, eta).value() * (1 - 1e-9));
    }
    // One learner: staleness 0 with K = 1.
    CHECK(memoryless_floor(quadratic, {ReadOrder::after_arrival, 1, 1}, eta).value() ==
          doctest::Approx(fresh_floor(quadratic, 1, eta).value()).epsilon(1e-9));
  }
}

TEST_CASE("quadratic theory: staleness raises the floor by more the larger eta is") {
  const auto quadratic = unit_quadratic();
  double last = 1;
  for (const double eta : {0.005, 0.01, 0.02, 0.05, 0.1}) {
    const double ratio =
        memoryless_floor(quadratic, {ReadOrder::after_arrival, 1, 8}, eta).value() /
        fresh_floor(quadratic, 1, eta).value();
    CHECK(ratio > last);
    last = ratio;
    if (eta == 0.05) CHECK(std::abs(ratio - 1.35) <= 0.02);
    if (eta == 0.005) CHECK((ratio > 1.03 && ratio < 1.07));
  }
}

TEST_CASE("quadratic theory: curves end at their floors") {
  const NoisyQuadratic quadratic{.directions = {{1, 2}, {0.2, 5}}, .start = 3, .variance = 0.1};
  const std::vector<std::uint64_t> updates{0, 1000000};
  const auto fresh = fresh_losses(
      quadratic, 4, [](std::uint64_t) { return 0.1; }, updates);
  CHECK(fresh[0] == doctest::Approx((2 + 5 * 0.2) * 9 / 2));
  CHECK(fresh[1] == doctest::Approx(fresh_floor(quadratic, 4, 0.1).value()).epsilon(1e-9));
  for (const ReadOrder reading :
       {ReadOrder::together, ReadOrder::after_arrival, ReadOrder::before_update}) {
    const MemorylessRace race{reading, 4, 8};
    const auto stale = memoryless_losses(quadratic, race, 0.1, updates);
    CHECK(stale[0] == doctest::Approx(fresh[0]));
    CHECK(stale[1] ==
          doctest::Approx(memoryless_floor(quadratic, race, 0.1).value()).epsilon(1e-9));
  }
}

TEST_CASE("quadratic theory: the second moments are stable up to (1 + sqrt(1 + 8 P)) / (2 P)") {
  for (const std::uint32_t p : {1u, 2u, 8u, 100u, 10000u}) {
    CAPTURE(p);
    const double expected = (1 + std::sqrt(1 + 8.0 * p)) / (2.0 * p);
    CHECK(memoryless_stable_step({ReadOrder::after_arrival, 1, p}) ==
          doctest::Approx(expected).epsilon(1e-6));
    CHECK(memoryless_stable_step({ReadOrder::together, 1, p}) ==
          doctest::Approx(expected).epsilon(1e-6));
    CHECK(memoryless_stable_step({ReadOrder::together, p, p}) == doctest::Approx(2).epsilon(1e-6));
  }
  for (const ReadOrder reading : {ReadOrder::after_arrival, ReadOrder::before_update}) {
    const MemorylessRace race{reading, 5, 8};
    const double limit = memoryless_stable_step(race);
    CHECK(memoryless_floor(unit_quadratic(), race, 0.999 * limit));
    CHECK(!memoryless_floor(unit_quadratic(), race, 1.001 * limit));
  }
}

TEST_CASE("quadratic theory: the mean of 400 runs follows the curve, update by update") {
  constexpr std::uint32_t replicas = 400;
  constexpr double eta = 0.15;
  const NoisyQuadratic quadratic{.directions = {{1, 2}, {0.3, 1}}, .start = 1, .variance = 4.0 / 6};
  for (const auto& [protocol, race] :
       {std::tuple{R"({"kind": "async"})", MemorylessRace{ReadOrder::after_arrival, 1, 6}},
        {R"({"kind": "k-async", "k": 4})", MemorylessRace{ReadOrder::together, 4, 6}},
        {R"({"kind": "k-batch-async", "k": 3})", MemorylessRace{ReadOrder::after_arrival, 3, 6}},
        {R"({"kind": "softsync", "n": 2, "pull": "before"})",
         MemorylessRace{ReadOrder::before_update, 3, 6}}}) {
    // Noise 2: variance 4 in all, of minibatches of 2 and over 3 components 4/6 of each.
    const Point point = point_from(
        R"({"cluster": {"learners": 6, "runtime": {"distribution": "exponential", "mean": 1}},
            "model": {"kind": "quadratic", "dimensions": 3, "curvatures": [1, 0.3, 1], "noise": 2,
                      "minibatch": 2, "precision": "float64"},
            "protocol": )" +
        std::string(protocol) + R"(, "learning_rate": {"kind": "constant", "eta": 0.15},
            "stop": {"updates": 60}, "record": {"every_updates": 1}})");
    CHECK(point.theory().reading == race.reading);
    std::vector<double> mean(61), squares(61);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      const auto curve = run_training(point, replica).curve;
      REQUIRE(curve.size() == mean.size());
      for (std::size_t j = 0; j < mean.size(); ++j) {
        mean[j] += curve[j].evaluation.loss / replicas;
        squares[j] += curve[j].evaluation.loss * curve[j].evaluation.loss / replicas;
      }
    }
    std::vector<std::uint64_t> updates;
    for (std::uint64_t j = 0; j <= 60; ++j) updates.push_back(j);
    const auto expected = memoryless_losses(quadratic, race, eta, updates);
    for (std::size_t j = 0; j <= 60; ++j) {
      const double error =
          std::sqrt(std::fmax(0.0, squares[j] - mean[j] * mean[j]) / (replicas - 1));
      CAPTURE(protocol);
      CAPTURE(j);
      CAPTURE(expected[j]);
      CAPTURE(mean[j]);
      REQUIRE(std::abs(mean[j] - expected[j]) <= 4.5 * error + 1e-12);
      REQUIRE(error <= 0.08 * expected[j]);
    }
  }
}

}  // namespace gradrace::quadratic_theory_test
