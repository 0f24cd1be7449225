#include "distributions/fit/structure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/random.h"
#include "tests/support/mean.h"
#include "tests/support/skip.h"

namespace gradrace::structure_test {
namespace {

using Series = std::vector<std::vector<double>>;

Trace trace_from(Series series) {
  Trace trace;
  for (std::size_t i = 0; i < series.size(); ++i) trace.learners.push_back(std::to_string(i));
  trace.series = std::move(series);
  return trace;
}

/// Draws of a law, each step the product of an independent lognormal part and exp of an AR(1).
std::vector<double> simulated(const PersistentLaw& law, std::uint32_t count, std::uint32_t learner,
                              std::uint64_t seed) {
  auto words = stream({.seed = seed, .learner = learner});
  boost::random::normal_distribution<double> normal;
  const double sigma = std::sqrt(std::log1p(law.variation * law.variation));
  std::vector<double> x;
  double a = law.sd * normal(words);
  for (std::uint32_t n = 0; n < count; ++n) {
    if (n > 0) {
      a = law.correlation * a +
          law.sd * std::sqrt(1 - law.correlation * law.correlation) * normal(words);
    }
    const double independent = std::exp(sigma * normal(words) - sigma * sigma / 2);
    x.push_back(law.mean * independent * std::exp(a - law.sd * law.sd / 2));
  }
  return x;
}

TEST_CASE("structure: shares, means and autocorrelations of six times, by hand") {
  const Structure s = structure_of(trace_from({{1, 2, 3}, {6, 4, 8}}));
  CHECK(s.mean == 4);
  CHECK(s.learner_means == std::vector<double>{2, 6});
  // Squares: 9 + 4 + 1 + 4 + 0 + 16 = 34, of which 6 * 2^2 between.
  CHECK(s.variation == doctest::Approx(std::sqrt(34 / 6.0) / 4));
  CHECK(s.share_between == doctest::Approx(24 / 34.0));
  CHECK(s.lag1[0] == doctest::Approx(0));
  CHECK(s.lag1[1] == doctest::Approx((0 * -2 + -2 * 2) / 8.0));
  // Over their means: -1/2, 0, 1/2 and 0, -1/3, 1/3.
  const double squares = 0.5 + 2 / 9.0;
  CHECK(s.variation_within == doctest::Approx(std::sqrt(squares / 6)));
  REQUIRE(s.pooled.size() == 6);
  CHECK(s.pooled[0] == 1);
  CHECK(s.pooled[1] == doctest::Approx(-1 / 9.0 / squares));
  CHECK(s.pooled[2] == doctest::Approx(-0.25 / squares));
  CHECK(s.pooled[3] == 0);
  CHECK(s.share_by_chance == doctest::Approx(1 / 5.0));
  CHECK(s.n == 6);
  CHECK(std::isnan(structure_of(trace_from({{2, 2, 2}, {1, 3, 1}})).lag1[0]));
}

TEST_CASE("structure: speeds make the learners' means equal") {
  const Trace trace = trace_from({{1, 2, 3}, {6, 4, 8}});
  const Structure s = structure_of(trace);
  CHECK(speeds_of(s) == std::vector<double>{2, 4 / 6.0});
  const auto evened = evened_times(trace, s);
  CHECK(evened[0] + evened[1] + evened[2] == doctest::Approx(12));
  CHECK(evened[3] + evened[4] + evened[5] == doctest::Approx(12));
}

/// Ten learners, 300 times each: learner l's mean is 1 + l step.
Structure simulated_structure(const PersistentLaw& law, double step, std::uint64_t seed) {
  Series series;
  for (std::uint32_t l = 0; l < 10; ++l) {
    series.push_back(simulated(law, 300, l, seed));
    for (double& x : series.back()) x *= 1 + l * step;
  }
  return structure_of(trace_from(std::move(series)));
}

TEST_CASE("structure: independent, unequal and persistent learners are told apart") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const PersistentLaw independent{1, 0.1, 0, 0}, persistent{1, 0.05, 0.8, 0.1};
    CHECK(verdict_of(simulated_structure(independent, 0, seed)) == Verdict::independent);
    CHECK(verdict_of(simulated_structure(independent, 0.02, seed)) == Verdict::heterogeneous);
    CHECK(verdict_of(simulated_structure(independent, 0.1, seed)) == Verdict::heterogeneous);
    CHECK(verdict_of(simulated_structure(persistent, 0, seed)) == Verdict::persistent);
    CHECK(verdict_of(simulated_structure(persistent, 0.02, seed)) == Verdict::persistent);
    CHECK(verdict_of(simulated_structure(persistent, 0.1, seed)) == Verdict::heterogeneous);
    CHECK_FALSE(simulated_structure(persistent, 0, seed).uneven());
    const PersistentLaw alternating{1, 0, -0.9, 0.1};
    CHECK(verdict_of(simulated_structure(alternating, 0, seed)) == Verdict::alternating);
    const PersistentLaw again = persistent_law(simulated_structure(alternating, 0, seed), false);
    CHECK(again.correlation == doctest::Approx(-0.9).epsilon(0.1));
    CHECK(again.sd == doctest::Approx(0.1).epsilon(0.3));
    CHECK(simulated_structure(persistent, 0.03, seed).uneven());
  }
}

// 500 traces; 4 standard errors of their mean share.
TEST_CASE("structure: chance alone makes the share that is said to be by chance") {
  for (const double correlation : {0.0, 0.5, 0.8}) {
    CAPTURE(correlation);
    const PersistentLaw law{1, 0, correlation, 0.1};
    Mean share;
    double expected = 0;
    constexpr std::uint32_t traces = 500;
    for (std::uint32_t i = 0; i < traces; ++i) {
      const Structure s = simulated_structure(law, 0, 100 + i);
      share.add(s.share_between);
      expected += s.share_by_chance / traces;
    }
    // The formula is of long series: at 300 times off by some (1 + r) / (1 - r) / 300.
    const double finite = share.value() * (1 + correlation) / (1 - correlation) / 300;
    CHECK(std::abs(share.value() - expected) <= 4 * share.error() + 2 * finite);
  }
}

/// Mean, square of the variation, and lag-1 autocovariance over the squared mean; each with its
/// standard error over independent series.
struct Moments {
  double value[3], error[3];
};

Moments moments_of(const PersistentLaw& law) {
  constexpr std::uint32_t series = 400, length = 1000;
  double sum[3] = {}, squares[3] = {};
  for (std::uint32_t i = 0; i < series; ++i) {
    const auto x = simulated(law, length, i, 9);
    double found[3] = {};
    for (std::uint32_t n = 0; n < length; ++n) {
      const double off = x[n] / law.mean - 1;
      found[0] += x[n] / law.mean / length;
      found[1] += off * off / length;
      if (n > 0) found[2] += off * (x[n - 1] / law.mean - 1) / (length - 1);
    }
    for (int k = 0; k < 3; ++k) sum[k] += found[k], squares[k] += found[k] * found[k];
  }
  Moments moments{};
  for (int k = 0; k < 3; ++k) {
    moments.value[k] = sum[k] / series;
    moments.error[k] =
        std::sqrt((squares[k] / series - moments.value[k] * moments.value[k]) / series);
  }
  return moments;
}

/// That the law has the structure's mean, variation and lag-1 autocovariance: by the formulas of
/// its definition to 1e-12, and in 400 series of 1000 draws within 4 standard errors.
void check_reproduces(const Structure& s, const PersistentLaw& law, double variation) {
  const double squared = variation * variation;
  const double known[3] = {1, squared, squared * s.pooled[1]};
  const double persisting = law.sd * law.sd;
  const double formulas[3] = {law.mean / s.mean,
                              (1 + law.variation * law.variation) * std::exp(persisting) - 1,
                              std::expm1(persisting * law.correlation)};
  const Moments seen = moments_of(law);
  for (int k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(formulas[k] == doctest::Approx(known[k]).epsilon(1e-12));
    CHECK(std::abs(seen.value[k] - known[k]) <= 4 * seen.error[k]);
    CHECK(seen.error[k] < 0.1 * known[k]);
  }
}

TEST_CASE("structure: the fitted persistent law has the trace's mean, variation and lag-1") {
  Structure s{};
  s.mean = 7;
  s.variation = s.variation_within = 0.3;
  // exactly exp(0.2^2 0.7^k) - 1 at the lags, and more variance than that: a split.
  for (int k = 0; k <= 5; ++k) {
    s.pooled.push_back(k == 0 ? 1 : std::expm1(0.04 * std::pow(0.7, k)) / 0.09);
  }
  const PersistentLaw split = persistent_law(s, true);
  CHECK(split.correlation == doctest::Approx(0.7).epsilon(1e-12));
  CHECK(split.sd == doctest::Approx(0.2).epsilon(1e-12));
  check_reproduces(s, split, 0.3);
  // Falls faster after lag 1 than before it: nothing is independent.
  s.pooled = {1, 0.6, 0.2, 0.1, 0, 0};
  const PersistentLaw whole = persistent_law(s, true);
  CHECK(whole.variation == 0);
  check_reproduces(s, whole, 0.3);
  // One lag is known.
  s.pooled = {1, 0.6, -0.1, 0, 0, 0};
  CHECK(persistent_law(s, true).variation == 0);
  check_reproduces(s, persistent_law(s, true), 0.3);
}

TEST_CASE("structure: a persistent law is found again in its own draws") {
  const PersistentLaw law{5, 0.1, 0.9, 0.2};
  const auto s = structure_of(trace_from({simulated(law, 400'000, 0, 3)}));
  const PersistentLaw found = persistent_law(s, false);
  // Some 20 000 independent stretches; errors of a few times 1 / sqrt(20 000).
  CHECK(std::abs(found.mean / law.mean - 1) <= 4 * 0.2 / std::sqrt(20'000));
  CHECK(std::abs(found.sd / law.sd - 1) <= 0.03);
  CHECK(std::abs(found.variation / law.variation - 1) <= 0.03);
  CHECK(std::abs(found.correlation - law.correlation) <= 0.005);
}

TEST_CASE("structure: the laws fitted to two measured jobs have their mean, variation and lag-1") {
  GRADRACE_NEEDS_DATA("traces");
  for (const char* job : {"1", "3"}) {
    CAPTURE(std::string(job));
    const auto file = data_folder("traces") / ("alibaba_pai_job_" + std::string(job) + ".csv");
    const auto s = structure_of(trace_of(read_table(file), "batch_time_norm", "worker"));
    CHECK(s.uneven());
    check_reproduces(s, persistent_law(s, true), s.variation_within);
  }
}

}  // namespace
}  // namespace gradrace::structure_test
