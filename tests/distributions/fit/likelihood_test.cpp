#include "distributions/fit/likelihood.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "distributions/fit/fit.h"
#include "tests/support/laws.h"

namespace gradrace::likelihood_test {
namespace {

constexpr std::uint32_t learners = 8, steps = 1000;

const std::vector<std::string>& known_laws() {
  static const std::vector<std::string> all{
      R"({"distribution": "uniform", "low": 1, "high": 3})",
      R"({"distribution": "exponential", "mean": 2})",
      R"({"distribution": "shifted-exponential", "shift": 1, "mean": 1})",
      R"({"distribution": "pareto", "scale": 1, "shape": 3})",
      R"({"distribution": "weibull", "scale": 2, "shape": 1.5})",
      R"({"distribution": "gamma", "shape": 4, "scale": 0.5})",
      R"({"distribution": "lognormal", "mu": 0.5, "sigma": 0.5})",
      R"({"distribution": "normal", "mean": 2, "sd": 0.5})",
      R"({"distribution": "hyperexponential", "probabilities": [0.8, 0.2], "means": [0.5, 5]})",
  };
  return all;
}

/// A round's times of all learners, ascending.
std::vector<double> round_of(const Distribution& law, std::uint32_t step) {
  std::vector<double> times;
  for (std::uint32_t learner = 0; learner < learners; ++learner) {
    auto words = stream({.seed = 11, .draw = step * learners + learner});
    times.push_back(law.sample(words));
  }
  std::sort(times.begin(), times.end());
  return times;
}

/// Of a job that waits for the first of its learners and cancels the others.
Observations cancelled_by(const Distribution& law, std::uint32_t waited_for = 4) {
  Observations observed;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const auto times = round_of(law, step);
    for (std::uint32_t i = 0; i < learners; ++i) {
      observed.times.push_back(times[std::min(i, waited_for - 1)]);
      observed.cancelled.push_back(i >= waited_for);
    }
  }
  return observed;
}

/// Of a job that waits for all.
Observations slowest_by(const Distribution& law) {
  Observations observed{{}, {}, learners};
  for (std::uint32_t step = 0; step < steps; ++step)
    observed.times.push_back(round_of(law, step).back());
  return observed;
}

const Fit* fit_of(const Fits& fits, const std::string& family) {
  const auto found = std::ranges::find(fits.fits, family, &Fit::family);
  return found == fits.fits.end() ? nullptr : &*found;
}

std::string family_of(const std::string& json) {
  const auto begin = json.find(": \"") + 3;
  return json.substr(begin, json.find('"', begin) - begin);
}

/// How far the law of that family is off the known mean, as a share of it.
double error_of(const Observations& observed, const std::string& json) {
  const auto fits = fit_families(observed);
  const Fit* fit = fit_of(fits, family_of(json));
  REQUIRE_MESSAGE(fit != nullptr, json);
  return std::abs(fit->law->mean() / law_of(json)->mean() - 1);
}

// 8000 times of 1000 rounds.  Half are cancelled, so that the upper half of a law is extrapolated:
// bound 5 %.  Of the hyperexponential law that half is its slow part, which nothing extrapolates;
// there one in eight is cancelled, and the mean of 1000 whole times has a standard error of 6 %: 12
// %.
TEST_CASE(
    "likelihood: cancelled times give each family's mean back, taken for whole ones they do not") {
  for (const auto& json : known_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    const bool slow_part = family_of(json) == "hyperexponential";
    const Observations observed = cancelled_by(*law, slow_part ? 7 : 4);
    CHECK(error_of(observed, json) <= (slow_part ? 0.12 : 0.05));
    double recorded = 0;
    for (const double x : observed.times) recorded += x / (steps * learners);
    CHECK(recorded < 0.9 * law->mean());
  }
}

// 1000 times, each the slowest of 8.  The mean is found from the upper tail: within 10 %, of which
// the hyperexponential law's lower part is seen least (15 %).
TEST_CASE(
    "likelihood: the slowest of eight give each family's mean back, taken for one they do not") {
  for (const auto& json : known_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    const Observations observed = slowest_by(*law);
    CHECK(error_of(observed, json) <= (family_of(json) == "hyperexponential" ? 0.15 : 0.1));
    double recorded = 0;
    for (const double x : observed.times) recorded += x / steps;
    CHECK(recorded > 1.3 * law->mean());
  }
}

// The total time over the number of whole minibatches.
TEST_CASE("likelihood: an exponential law by hand") {
  const std::string json = R"({"distribution": "exponential", "mean": 2})";
  const auto cancelled = cancelled_by(*law_of(json));
  double sum = 0;
  for (const double x : cancelled.times) sum += x;
  const auto fits = fit_families(cancelled);
  const Fit* fit = fit_of(fits, "exponential");
  REQUIRE(fit);
  constexpr double whole = 4 * steps;
  const double mean = sum / whole;
  CHECK(fit->law->mean() == doctest::Approx(mean).epsilon(1e-4));
  CHECK(fit->log_likelihood == doctest::Approx(-whole * (std::log(mean) + 1)).epsilon(1e-7));
}

// Of whole times both are the maximum of one function; the edge of a support is approached.
TEST_CASE("likelihood: the search finds what the closed forms give for whole times") {
  for (const auto& json : known_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    Observations observed;
    for (std::uint32_t step = 0; step < 200; ++step) {
      for (const double x : round_of(*law, step)) observed.times.push_back(x);
    }
    const std::string family = family_of(json);
    if (family == "hyperexponential") continue;
    const auto known = std::ranges::find(estimators(), family, &Estimator::family)
                           ->estimate(Sample(observed.times));
    const auto found = estimate_by_likelihood(family, observed);
    REQUIRE(found.refusal == "");
    CHECK(found.free_parameters == known.free_parameters);
    CHECK(found.log_likelihood == doctest::Approx(known.log_likelihood).epsilon(1e-5));
  }
}

/// The greatest log-likelihood of two exponential parts that expectation and maximisation comes to
/// from p = 0.9 and the means m, r m.
double most_by_em(const std::vector<double>& times) {
  double mean = 0, most = -1e300;
  for (const double x : times) mean += x / static_cast<double>(times.size());
  for (const double ratio : {0.01, 0.1, 0.5, 2.0, 10.0}) {
    double p = 0.9, first = mean, second = ratio * mean, likelihood = 0;
    for (int step = 0; step < 2000; ++step) {
      double weight = 0, first_sum = 0, sum = 0;
      likelihood = 0;
      for (const double x : times) {
        const double a = p / first * std::exp(-x / first);
        const double b = (1 - p) / second * std::exp(-x / second);
        weight += a / (a + b), first_sum += x * a / (a + b), sum += x;
        likelihood += std::log(a + b);
      }
      const auto n = static_cast<double>(times.size());
      p = weight / n, first = first_sum / weight, second = (sum - first_sum) / (n - weight);
    }
    most = std::max(most, likelihood);
  }
  return most;
}

// Source: Dempster, Laird and Rubin, Journal of the Royal Statistical Society B 39, 1977.
TEST_CASE("likelihood: two parts are as likely as those of expectation and maximisation") {
  const auto law = law_of(known_laws().back());
  std::vector<double> times;
  for (std::uint32_t step = 0; step < 100; ++step)
    for (const double x : round_of(*law, step)) times.push_back(x);
  const auto fits = fit_families(times);
  const Fit* fit = fit_of(fits, "hyperexponential");
  REQUIRE(fit);
  CHECK(fit->log_likelihood == doctest::Approx(most_by_em(times)).epsilon(1e-8));
}

TEST_CASE("likelihood: every family is fitted or left out with a reason") {
  const auto law = law_of(known_laws()[5]);
  CHECK(fit_families(cancelled_by(*law)).fits.front().family == "gamma");
  for (const auto& observed : {cancelled_by(*law), slowest_by(*law)}) {
    const auto fits = fit_families(observed);
    CHECK(fits.fits.size() + fits.left_out.size() == distribution_catalog().entries.size());
    for (const auto& [family, why] : fits.left_out) {
      CAPTURE(family);
      if (family == "deterministic" || family == "two-point")
        CHECK(why == "has no density, and cancelled times have no moments");
      if (family == "mixture") CHECK(why == "has no parameters of its own");
    }
  }
}

// P(high) = 1/4 among the slowest of 2: p = 1 - sqrt(3/4).
TEST_CASE("likelihood: a law of two times from the slowest of two") {
  Observations observed{std::vector<double>(100, 1.0), {}, 2};
  std::fill_n(observed.times.begin(), 25, 3.0);
  const auto fits = fit_families(observed);
  const Fit* fit = fit_of(fits, "two-point");
  REQUIRE(fit);
  CHECK(fit->law->mean() == doctest::Approx(1 + 2 * (1 - std::sqrt(0.75))).epsilon(1e-8));
  CHECK(fit->kolmogorov < 1e-8);
}

// Five times, the second and fourth cancelled: 1 - 4/5, then 4/5 * 2/3, then 0 left.
TEST_CASE("likelihood: the product-limit estimate, by hand") {
  const auto steps_of = measured_steps({{5, 1, 2, 3, 4}, {false, false, true, false, true}});
  CHECK(steps_of.times == std::vector<double>{1, 3, 5});
  const double at[] = {0.2, 1 - 0.8 * 2 / 3, 1}, below[] = {0, 0.2, 1 - 0.8 * 2 / 3};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(steps_of.at[i] == doctest::Approx(at[i]).epsilon(1e-14));
    CHECK(steps_of.below[i] == doctest::Approx(below[i]).epsilon(1e-14));
  }
}

}  // namespace
}  // namespace gradrace::likelihood_test
