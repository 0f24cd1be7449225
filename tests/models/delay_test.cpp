#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "sim/cli/csv.h"
#include "tests/race_text.h"

using namespace gradrace;

// A quadratic of curvature h whose gradients are all tau updates old: w_(j+1) = w_j - v_(j+1),
// v_(j+1) = momentum v_j + alpha h w_(j-tau).  It is stable up to a certain alpha h.

namespace {

/// The largest stable alpha h with momentum 0 and 0.9, to the digits shown.
struct Limit {
  std::uint32_t tau;
  double plain, with_momentum;
};
constexpr Limit limits[] = {{0, 2.0, 3.80},    {1, 1.0, .100},    {2, .618, .0512},
                            {5, .285, .0215},  {9, .165, .0125},  {14, .108, .0084},
                            {18, .085, .0067}, {29, .053, .0044}, {30, .051, .0043}};

/// The alpha h at which z^(j) solves the recursion.
std::complex<double> at_root(std::complex<double> z, std::uint32_t tau, double momentum) {
  return -std::pow(z, static_cast<int>(tau)) * (z - (1 + momentum) + momentum / z);
}

/// The least positive alpha h with a root on the unit circle.
double exact_limit(std::uint32_t tau, double momentum) {
  const auto at = [&](double angle) { return at_root(std::polar(1.0, angle), tau, momentum); };
  constexpr int steps = 20000;
  double least = at(std::numbers::pi).real();  // z = -1
  for (int i = 1; i < steps; ++i) {
    double low = std::numbers::pi * i / steps, high = std::numbers::pi * (i + 1) / steps;
    if (at(low).imag() * at(high).imag() > 0) continue;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      (at(low).imag() * at(middle).imag() <= 0 ? high : low) = middle;
    }
    const double found = at(low).real();
    if (found > 0 && (found < least || least <= 0)) least = found;
  }
  return least;
}

/// Async with tau + 1 learners of the same constant runtime, h = 1, no noise, 40,000 updates.
RunRecord delayed_run(std::uint32_t tau, double momentum, double alpha) {
  const Point point = point_from(
      R"({"cluster": {"learners": )" + std::to_string(tau + 1) +
      R"(, "runtime": {"distribution": "deterministic", "value": 1}}, "protocol": {"kind": "async"},
          "model": {"kind": "quadratic", "noise": 0, "precision": "float64"},
          "stop": {"updates": 40000}, "record": {"every_updates": 1},
          "optimiser": {"momentum": )" +
      number_text(momentum) + R"(}, "learning_rate": {"kind": "constant", "eta": )" +
      number_text(alpha) + "}}");
  const Race race = point.race();
  const auto device = point.model->make_device({});
  Run run(race, 0, true, nullptr);
  drive({&run, 1}, device.get(), [] { return true; });
  return run.record();
}

/// The largest loss over a tenth of the run, over that of a tenth in its middle.
double growth(const RunRecord& record) {
  if (record.status == Status::diverged) return std::numeric_limits<double>::infinity();
  const auto largest = [&](std::size_t from) {
    double loss = 0;
    for (std::size_t j = from; j < from + 4000; ++j)
      loss = std::max(loss, record.curve[j].evaluation.loss);
    return loss;
  };
  const double middle = largest(18000);
  return middle == 0 ? 0 : largest(36000) / middle;
}

}  // namespace

TEST_CASE("delay: async with equal constant runtimes delays every gradient by P - 1 updates") {
  const RunRecord record = delayed_run(9, 0, 0.01);
  REQUIRE(record.staleness_counts.size() == 10);
  for (std::size_t tau = 0; tau < 9; ++tau) CHECK(record.staleness_counts[tau] == 1);  // the start
  CHECK(record.staleness_counts[9] == 40000 - 9);
}

TEST_CASE("delay: the largest stable alpha h is 2 sin(pi / (2 (2 tau + 1))) without momentum") {
  for (const auto& [tau, plain, with_momentum] : limits) {
    const double closed = 2 * std::sin(std::numbers::pi / (2 * (2 * tau + 1)));
    CHECK(std::abs(exact_limit(tau, 0) - closed) <= 1e-9);
  }
}

TEST_CASE(
    "delay: 2 % below the stability limit the loss decays and 2 % above it grows, with and without "
    "momentum") {
  for (const auto& [tau, plain, with_momentum] : limits) {
    for (const double momentum : {0.0, 0.9}) {
      const double expected = momentum == 0 ? plain : with_momentum;
      const double limit = exact_limit(tau, momentum);
      const double tolerance = momentum == 0 ? 5e-4 : 5e-5;  // half of the last digit
      const double below = growth(delayed_run(tau, momentum, 0.98 * limit));
      const double above = growth(delayed_run(tau, momentum, 1.02 * limit));
      CAPTURE(tau);
      CAPTURE(momentum);
      INFO("expected: stable below alpha h = ", expected, ", where a root reaches the unit circle");
      INFO("tolerance: ", tolerance,
           "; 2 % off it the loss falls or rises 1000-fold in 18000 updates");
      INFO("measured: limit ", limit, ", growth ", below, " below it and ", above, " above");
      CHECK(std::abs(limit - expected) <= tolerance);
      CHECK(below <= 1e-3);
      CHECK(above >= 1e3);
    }
  }
}
