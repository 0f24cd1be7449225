#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "sim/message_text.h"
#include "tests/claims/claim.h"
#include "tests/claims/delayed.h"

namespace gradrace::delay_claims {

// A quadratic of curvature h whose gradients are all tau updates old: w_(j+1) = w_j - v_(j+1),
// v_(j+1) = momentum v_j + alpha h w_(j-tau).  It is stable up to a certain alpha h.

namespace {

const char* const derived = "derived";

/// The largest stable alpha h with momentum 0.9 by an independent calculation, and the last digit
/// given.
struct Limit {
  std::uint32_t tau;
  double with_momentum, digit;
};
constexpr Limit limits[] = {{0, 3.80, .01},     {1, .100, .001},    {2, .0512, .0001},
                            {5, .0215, .0001},  {9, .0125, .0001},  {14, .0084, .0001},
                            {18, .0067, .0001}, {29, .0044, .0001}, {30, .0043, .0001}};

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

/// The largest loss over a tenth of the run, over that of a tenth in its middle.
double growth(const RaceRecord& record) {
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
  const RaceRecord record = run_delayed({.delay = 9, .eta = 0.01});
  claim({"rates-2.delay", derived,
         "async, 10 learners, equal constant runtimes: gradients of 40,000 that are not 9 updates "
         "old, those of the start",
         exactly(9), 40000.0 - static_cast<double>(record.staleness_counts.at(9))});
}

TEST_CASE("delay: the largest stable alpha h of a constant delay") {
  for (const auto& [tau, with_momentum, digit] : limits) {
    CAPTURE(tau);
    // A constant delay without momentum has the closed form 2 sin(pi / (2 (2 tau + 1))).
    CHECK(exact_limit(tau, 0) ==
          doctest::Approx(2 * std::sin(std::numbers::pi / (2 * (2 * tau + 1)))).epsilon(1e-9));
    CHECK(std::abs(exact_limit(tau, 0.9) - with_momentum) <= digit / 2);
  }
}

TEST_CASE("delay: a run decays 2 % below the largest stable alpha h and grows 2 % above it") {
  for (const auto& limit : limits) {
    for (const double momentum : {0.0, 0.9}) {
      const double alpha = exact_limit(limit.tau, momentum);
      const std::string id =
          ".tau-" + std::to_string(limit.tau) + ".momentum-" + number_text(momentum);
      const auto run = [&](double share) {
        return run_delayed({.delay = limit.tau, .eta = share * alpha, .momentum = momentum});
      };
      const std::string at = "staleness " + std::to_string(limit.tau) + ", momentum " +
                             number_text(momentum) + ", alpha h 2 % ";
      claim({"rates-2.below" + id, derived,
             at + "below its limit: loss over that of 18,000 updates before", no_more_than(1e-3),
             growth(run(0.98))});
      claim({"rates-2.above" + id, derived,
             at + "above its limit: loss over that of 18,000 updates before", no_less_than(1e3),
             growth(run(1.02))});
    }
  }
}

}  // namespace gradrace::delay_claims
