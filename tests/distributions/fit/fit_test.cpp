#include "distributions/fit/fit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "tests/support/laws.h"

namespace gradrace::fit_test {
namespace {

std::vector<double> draws(const std::string& json, std::uint32_t n, std::uint64_t seed = 1) {
  const auto law = law_of(json);
  std::vector<double> x;
  for (std::uint32_t i = 0; i < n; ++i) {
    auto words = stream({.seed = seed, .draw = i});
    x.push_back(law->sample(words));
  }
  return x;
}

const Fit& fit_of(const Fits& fits, const std::string& family) {
  const auto found = std::find_if(fits.fits.begin(), fits.fits.end(),
                                  [&](const Fit& fit) { return fit.family == family; });
  REQUIRE(found != fits.fits.end());
  return *found;
}

std::string why_left_out(const Fits& fits, const std::string& family) {
  for (const auto& [name, why] : fits.left_out)
    if (name == family) return why;
  return {};
}

using Density = std::function<double(const std::vector<double>&, double)>;

/// Asymptotic standard errors of the maximum likelihood estimates from n draws: the roots of the
/// diagonal of the inverse of n times Fisher's information, integral of (d log f)^2 f dx, by
/// Simpson's rule on x = e^u and central differences.
std::vector<double> standard_errors(const Density& f, const std::vector<double>& theta, double n) {
  const std::size_t d = theta.size();
  std::vector<std::vector<double>> m(d, std::vector<double>(2 * d));
  constexpr int steps = 20'000;
  constexpr double from = -15, to = 6, h = (to - from) / steps;
  for (int step = 0; step <= steps; ++step) {
    const double x = std::exp(from + h * step);
    const double weight = (step == 0 || step == steps ? 1 : step % 2 == 1 ? 4 : 2) * h / 3 * x;
    std::vector<double> score;
    for (std::size_t i = 0; i < d; ++i) {
      const double small = 1e-5 * std::abs(theta[i]);
      auto up = theta, down = theta;
      up[i] += small, down[i] -= small;
      score.push_back((std::log(f(up, x)) - std::log(f(down, x))) / (2 * small));
    }
    const double density = f(theta, x);
    if (!(density > 1e-280)) continue;
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) m[i][j] += n * weight * density * score[i] * score[j];
  }
  for (std::size_t i = 0; i < d; ++i) m[i][d + i] = 1;
  for (std::size_t i = 0; i < d; ++i) {  // Gauss and Jordan
    for (std::size_t row = 0; row < d; ++row) {
      if (row == i) continue;
      const double factor = m[row][i] / m[i][i];
      for (std::size_t column = 0; column < 2 * d; ++column)
        m[row][column] -= factor * m[i][column];
    }
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < d; ++i) errors.push_back(std::sqrt(m[i][d + i] / m[i][i]));
  return errors;
}

double normal_density(const std::vector<double>& theta, double x) {
  const double z = (x - theta[0]) / theta[1];
  const double kept = std::erfc(-theta[0] / theta[1] / std::numbers::sqrt2) / 2;
  return std::exp(-z * z / 2) / (theta[1] * std::sqrt(2 * std::numbers::pi) * kept);
}

double hyperexponential_density(const std::vector<double>& theta, double x) {
  return theta[0] / theta[1] * std::exp(-x / theta[1]) +
         (1 - theta[0]) / theta[2] * std::exp(-x / theta[2]);
}

constexpr std::uint32_t n = 100'000;
constexpr double root_n = 316.22776601683796;

struct Known {
  std::string family, keys;
  std::vector<double> truth;   // in the order of the keys, a list's items one by one
  std::vector<double> errors;  // standard errors
};

// The smallest of n draws lies off the end by an exponential time; 4 standard errors of a normal
// law are exceeded as rarely (6e-5) as 9.7 of its means.
constexpr double off_end = 9.7 / 4;

const std::vector<Known>& known_laws() {
  static const std::vector<Known> all = [] {
    const double psi = boost::math::trigamma(3.0);
    const double gamma_information = 3 * psi - 1;
    const auto wide = standard_errors(normal_density, {0.5, 1}, n);
    const auto parts = standard_errors(hyperexponential_density, {0.9, 0.5, 5.5}, n);
    return std::vector<Known>{
        {"uniform", R"("low": 2, "high": 5)", {2, 5}, {off_end * 3 / n, off_end * 3 / n}},
        {"exponential", R"("mean": 3)", {3}, {3 / root_n}},
        {"shifted-exponential", R"("shift": 2, "mean": 3)", {2, 3}, {off_end * 3 / n, 3 / root_n}},
        {"pareto", R"("scale": 2, "shape": 3)", {2, 3}, {off_end * 2 / 3 / n, 3 / root_n}},
        {"weibull",
         R"("scale": 2, "shape": 1.5)",
         {2, 1.5},
         {std::sqrt(1.108665) * 2 / 1.5 / root_n, std::sqrt(6) / std::numbers::pi * 1.5 / root_n}},
        {"gamma",
         R"("shape": 3, "scale": 2)",
         {3, 2},
         {std::sqrt(3 / gamma_information) / root_n,
          2 * std::sqrt(psi / gamma_information) / root_n}},
        {"lognormal",
         R"("mu": 1, "sigma": 0.5)",
         {1, 0.5},
         {0.5 / root_n, 0.5 / root_n / std::sqrt(2)}},
        {"normal", R"("mean": 7, "sd": 1)", {7, 1}, {1 / root_n, 1 / root_n / std::sqrt(2)}},
        {"normal", R"("mean": 0.5, "sd": 1)", {0.5, 1}, wide},
        {"hyperexponential",
         R"("probabilities": [0.9, 0.1], "means": [0.5, 5.5])",
         {0.9, 0.1, 0.5, 5.5},
         {parts[0], parts[0], parts[1], parts[2]}},
    };
  }();
  return all;
}

std::string json_of(const Known& known) {
  return R"({"distribution": ")" + known.family + "\", " + known.keys + "}";
}

std::vector<double> numbers_of(const std::string& json) {
  std::vector<double> numbers;
  const auto law = nlohmann::ordered_json::parse(json);
  for (const auto& value : law) {
    if (value.is_number()) numbers.push_back(value.get<double>());
    if (!value.is_array()) continue;
    for (const auto& item : value) numbers.push_back(item.get<double>());
  }
  return numbers;
}

/// Families whose laws include every law of the family.
std::set<std::string> wider(const std::string& family) {
  if (family == "exponential") {
    return {"shifted-exponential", "weibull", "gamma", "hyperexponential"};
  }
  return {};
}

// 10^5 draws, 4 standard errors; Kolmogorov's bound at 1 %, which fitted parameters stay below.
TEST_CASE("fit: parameters come back within their standard errors, and AIC finds the family") {
  for (const auto& known : known_laws()) {
    CAPTURE(known.family);
    const auto fits = fit_families(draws(json_of(known), n));
    const auto& own = fit_of(fits, known.family);
    const auto numbers = numbers_of(own.json);
    REQUIRE(numbers.size() == known.truth.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CAPTURE(i);
      CAPTURE(numbers[i]);
      CAPTURE(known.errors[i]);
      CHECK(std::abs(numbers[i] - known.truth[i]) <= 4 * known.errors[i]);
      CHECK(known.errors[i] < 0.05 * known.truth[i]);
    }
    CHECK(own.kolmogorov <= 1.63 / root_n);
    const auto rivals = wider(known.family);
    for (const auto& fit : fits.fits) {
      CAPTURE(fit.family);
      if (rivals.contains(fit.family)) {
        CHECK(fit.aic - own.aic > -10);
      } else if (fit.family != known.family && !std::isnan(fit.aic)) {
        CHECK(fit.aic > own.aic);
      }
    }
  }
}

// By central differences of its survival function, which knows nothing of densities.
TEST_CASE("fit: the log-likelihood is the sum of the law's log-densities") {
  for (const auto& known : known_laws()) {
    const auto times = draws(json_of(known), 500, 3);
    for (const auto& fit : fit_families(times).fits) {
      if (std::isnan(fit.log_likelihood)) continue;
      CAPTURE(known.family);
      CAPTURE(fit.family);
      double sum = 0;
      const auto [least, most] = std::minmax_element(times.begin(), times.end());
      for (const double x : times) {
        const double h = 1e-5 * x;  // inwards at the ends, where the density jumps
        const double low = x == *least ? x : x - h, high = x == *most ? x : x + h;
        const double at = x == *least ? std::nextafter(low, high) + 1e-9 * x : low;
        const double end = x == *most ? high - 1e-9 * x : high;
        sum += std::log((fit.law->survival(at) - fit.law->survival(end)) / (end - at));
      }
      CHECK(sum == doctest::Approx(fit.log_likelihood).epsilon(1e-5));
    }
  }
}

TEST_CASE("fit: other parameters are less likely") {
  const auto times = draws(R"({"distribution": "gamma", "shape": 3, "scale": 2})", 2000, 4);
  const auto likelihood = [&](const std::string& family, double a, double b) {
    double sum = 0;
    for (const double x : times) {
      if (family == "gamma")
        sum += (a - 1) * std::log(x) - x / b - std::lgamma(a) - a * std::log(b);
      if (family == "weibull")
        sum += std::log(b / a) + (b - 1) * std::log(x / a) - std::pow(x / a, b);
      if (family == "normal") sum += std::log(normal_density({a, b}, x));
    }
    return sum;
  };
  const auto fits = fit_families(times);
  for (const std::string family : {"gamma", "weibull", "normal"}) {
    CAPTURE(family);
    const auto at = numbers_of(fit_of(fits, family).json);
    const double most = likelihood(family, at[0], at[1]);
    CHECK(most == doctest::Approx(fit_of(fits, family).log_likelihood).epsilon(1e-12));
    for (const auto& [da, db] : {std::pair{1e-3, 0.0}, {-1e-3, 0.0}, {0.0, 1e-3}, {0.0, -1e-3}}) {
      CHECK(likelihood(family, at[0] * (1 + da), at[1] * (1 + db)) < most);
    }
  }
}

TEST_CASE("fit: every family of the catalog is fitted or left out with a reason") {
  const auto fits = fit_families(draws(R"({"distribution": "uniform", "low": 1, "high": 2})", 100));
  CHECK(fits.fits.size() + fits.left_out.size() == distribution_catalog().entries.size());
  for (const auto& [family, why] : fits.left_out) CHECK(why != "has no estimator");
  CHECK(why_left_out(fits, "mixture") == "has no parameters of its own");
  CHECK(why_left_out(fits, "hyperexponential") ==
        "its coefficient of variation is above 1, and that of these times is not");
}

TEST_CASE("fit: families rank by AIC, those without a density behind them, and all by distance") {
  const auto fits = fit_families(draws(R"({"distribution": "gamma", "shape": 3, "scale": 2})", n));
  std::vector<double> aics;
  std::vector<std::string> without;
  for (const auto& fit : fits.fits) {
    if (std::isnan(fit.aic)) {
      without.push_back(fit.family);
    } else {
      CHECK(without.empty());
      aics.push_back(fit.aic);
    }
    int nearer = 0;
    for (const auto& other : fits.fits) nearer += other.kolmogorov < fit.kolmogorov ? 1 : 0;
    CHECK(fit.kolmogorov_rank == nearer + 1);
  }
  CHECK(std::is_sorted(aics.begin(), aics.end()));
  CHECK(without == std::vector<std::string>{"two-point", "deterministic"});
  CHECK(fits.fits.front().family == "gamma");
  CHECK(fits.fits.front().kolmogorov_rank == 1);
}

// A law of two points is its own sample: its moments give it back to rounding.
TEST_CASE("fit: laws without a density have the moments of the times") {
  for (const std::size_t slow : {1u, 20u, 50u, 99u}) {
    CAPTURE(slow);
    std::vector<double> times(100, 2.5);
    std::fill_n(times.begin(), slow, 20.0);
    const auto fits = fit_families(times);
    const auto& two = fit_of(fits, "two-point");
    const auto numbers = numbers_of(two.json);
    const double known[] = {2.5, 20, static_cast<double>(slow) / 100};
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(numbers[i] == doctest::Approx(known[i]).epsilon(1e-8));
    const auto& one = fit_of(fits, "deterministic");
    CHECK(numbers_of(one.json)[0] == doctest::Approx(2.5 + known[2] * 17.5).epsilon(1e-9));
    CHECK(one.kolmogorov == doctest::Approx(std::max(known[2], 1 - known[2])));
  }
  const auto times = draws(R"({"distribution": "gamma", "shape": 100, "scale": 2})", 1000);
  const auto two = fit_of(fit_families(times), "two-point").law;
  double mean = 0, variance = 0;
  for (const double x : times) mean += x / 1000;
  for (const double x : times) variance += (x - mean) * (x - mean) / 1000;
  CHECK(two->mean() == doctest::Approx(mean).epsilon(1e-8));
  CHECK(two->variance() == doctest::Approx(variance).epsilon(1e-8));
}

TEST_CASE("fit: a law that a scenario may not have is left out") {
  std::vector<double> heavy;  // of a Pareto law of shape 1/2
  for (int i = 1; i < 100; ++i) heavy.push_back(std::pow(i / 100.0, -2));
  const auto fits = fit_families(heavy);
  CHECK(why_left_out(fits, "pareto").starts_with("shape must be > 1, got 0.5"));
  CHECK(why_left_out(fits, "normal") == "varies less than these times, wherever it is truncated");
  CHECK(fit_of(fits, "hyperexponential").aic < fit_of(fits, "exponential").aic);
}

TEST_CASE("fit: the unit of time changes the parameters and nothing else") {
  const auto times = draws(R"({"distribution": "gamma", "shape": 9, "scale": 2})", 1000, 5);
  auto small = times;
  for (double& x : small) x *= 1e-6;
  const auto a = fit_families(times), b = fit_families(small);
  REQUIRE(a.fits.size() == b.fits.size());
  for (std::size_t i = 0; i < a.fits.size(); ++i) {
    CHECK(a.fits[i].family == b.fits[i].family);
    CHECK(a.fits[i].kolmogorov == doctest::Approx(b.fits[i].kolmogorov).epsilon(1e-6));
    CHECK(std::isnan(a.fits[i].aic) == std::isnan(b.fits[i].aic));
    if (std::isnan(a.fits[i].aic)) continue;
    CHECK(a.fits[i].aic + 2 * 1000 * std::log(1e-6) ==
          doctest::Approx(b.fits[i].aic).epsilon(1e-9));
  }
}

TEST_CASE("fit: two times, or very narrow ones, are no trouble") {
  for (const auto& times : {std::vector<double>{1, 2}, {1, 1, 1, 1 + 1e-8}, {1e-9, 1, 1e9}}) {
    const auto fits = fit_families(times);
    CHECK(fits.fits.size() >= 5);
    for (const auto& fit : fits.fits) {
      CAPTURE(fit.family);
      CHECK(std::isfinite(fit.aic) == (fit.method.find("moments") == std::string::npos));
      CHECK(fit.kolmogorov <= 1);
    }
  }
}

// F = 0.1, 0.2, 0.5 at 1, 2, 5; the sample's steps go from 0 to 1/4, to 3/4, to 1.
TEST_CASE("fit: the distance of Kolmogorov and Smirnov, by hand") {
  const auto law = law_of(R"({"distribution": "uniform", "low": 0, "high": 10})");
  const auto distance = [&](std::vector<double> sorted) {
    return kolmogorov_distance(sorted, *law);
  };
  CHECK(distance({1, 2, 2, 5}) == doctest::Approx(0.55).epsilon(1e-14));
  CHECK(distance({8, 9}) == doctest::Approx(0.8).epsilon(1e-14));
  CHECK(distance({5}) == doctest::Approx(0.5).epsilon(1e-14));
  const auto steps =
      law_of(R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 0.5})");
  CHECK(kolmogorov_distance(std::vector<double>{1, 2}, *steps) == 0);
  CHECK(kolmogorov_distance(std::vector<double>{1, 2, 2, 2}, *steps) == 0.25);
}

}  // namespace
}  // namespace gradrace::fit_test
