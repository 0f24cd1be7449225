#include "distributions/order_statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/laws.h"
#include "tests/support/mean.h"

namespace gradrace::order_statistics_test {
namespace {

bool near(double value, double expected, double relative) {
  return std::abs(value - expected) <= relative * std::abs(expected);
}

const char* const exponential = R"({"distribution": "exponential", "mean": 1})";
const char* const pareto = R"({"distribution": "pareto", "scale": 1, "shape": 2})";

/// Tables of four decimals, K = 1 to n, of the paper's fact sheet (Dutta et al., AISTATS 2018;
/// closed forms of section 3.1).
void check_table(const char* json, const std::vector<double>& printed) {
  const auto law = law_of(json);
  const auto n = static_cast<std::uint32_t>(printed.size());
  for (std::uint32_t k = 1; k <= n; ++k) {
    CAPTURE(k);
    CHECK(std::abs(law->expected_order_statistic(k, n) - printed[k - 1]) <= 0.5001e-4);
    CHECK(std::abs(integrate_order_statistic(*law, k, n) - printed[k - 1]) <= 0.5001e-4);
  }
}

TEST_CASE("order statistics: the printed tables of E[X_{K:8}] and E[X_{K:20}]") {
  check_table(exponential, {0.1250, 0.2679, 0.4345, 0.6345, 0.8845, 1.2179, 1.7179, 2.7179});
  check_table(pareto, {1.0667, 1.1487, 1.2531, 1.3924, 1.5913, 1.9096, 2.5461, 5.0922});
  check_table(exponential,
              {0.0500, 0.1026, 0.1582, 0.2170, 0.2795, 0.3462, 0.4176, 0.4945, 0.5779, 0.6688,
               0.7688, 0.8799, 1.0049, 1.1477, 1.3144, 1.5144, 1.7644, 2.0977, 2.5977, 3.5977});
  check_table(pareto,
              {1.0256, 1.0534, 1.0835, 1.1163, 1.1523, 1.1920, 1.2362, 1.2856, 1.3415, 1.4054,
               1.4794, 1.5664, 1.6708, 1.7994, 1.9629, 2.1810, 2.4926, 2.9911, 3.9882, 7.9763});
}

std::vector<std::uint32_t> some_k(std::uint32_t n) {
  std::vector<std::uint32_t> k;
  for (const std::uint32_t at : {1u, 2u, 3u, n / 4, n / 2, 3 * n / 4, n - 2, n - 1, n}) {
    if (1 <= at && at <= n) k.push_back(at);
  }
  return k;
}

TEST_CASE("order statistics: quadrature equals the closed forms to 1e-8") {
  for (const std::string json : {
           exponential,
           R"({"distribution": "shifted-exponential", "shift": 1, "mean": 0.1})",
           R"({"distribution": "uniform", "low": 0, "high": 1})",
           R"({"distribution": "uniform", "low": 5, "high": 6})",
           pareto,
           R"({"distribution": "pareto", "scale": 3, "shape": 1.1})",
           R"({"distribution": "pareto", "scale": 3, "shape": 9})",
           R"({"distribution": "deterministic", "value": 3})",
           R"({"distribution": "two-point", "low": 1, "high": 10, "probability": 0.1})",
           R"({"distribution": "two-point", "low": 0, "high": 1, "probability": 0.7})",
       }) {
    const auto law = law_of(json);
    for (const std::uint32_t n : {1u, 2u, 3u, 8u, 20u, 100u, 1000u, 20'000u}) {
      for (const auto k : some_k(n)) {
        CAPTURE(json);
        CAPTURE(k);
        CAPTURE(n);
        CHECK(
            near(integrate_order_statistic(*law, k, n), law->expected_order_statistic(k, n), 1e-8));
      }
    }
  }
}

TEST_CASE("order statistics: they are ascending and n of them sum to n E[X]") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (const std::uint32_t n : {1u, 2u, 7u, 30u}) {
      double sum = 0;
      double before = 0;
      for (std::uint32_t k = 1; k <= n; ++k) {
        const double now = law->expected_order_statistic(k, n);
        CHECK(now >= before * (1 - 1e-12));
        before = now;
        sum += now;
      }
      CHECK(near(sum, n * law->mean(), 1e-10));
    }
  }
}

// David and Nagaraja 2003, chapter 3: (n - k) E[X_{k:n}] + k E[X_{k+1:n}] = n E[X_{k:n-1}].
TEST_CASE("order statistics: the triangle rule joins n and n - 1, up to a thousand learners") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (const std::uint32_t n : {2u, 9u, 1000u}) {
      for (const auto k : some_k(n - 1)) {
        CAPTURE(k);
        const double left = (n - k) * law->expected_order_statistic(k, n) +
                            k * law->expected_order_statistic(k + 1, n);
        CHECK(near(left, n * law->expected_order_statistic(k, n - 1), 1e-9));
      }
    }
  }
}

TEST_CASE("order statistics: a million learners, closed forms") {
  constexpr std::uint32_t n = 1'000'000;
  const auto law = law_of(exponential);
  long double sum = 0;
  std::uint32_t k = 0;
  for (const std::uint32_t upto : {1u, 2u, 1000u, 1001u, 500'000u, 999'999u, n}) {
    for (; k < upto; ++k) sum += 1.0L / (n - k);
    CAPTURE(upto);
    CHECK(near(law->expected_order_statistic(upto, n), static_cast<double>(sum), 1e-12));
  }

  // The smallest of n Pareto draws is Pareto again, of shape 2 n; the largest from Stirling's
  // series.
  const auto heavy = law_of(pareto);
  CHECK(near(heavy->expected_order_statistic(1, n), 2.0 * n / (2.0 * n - 1), 1e-14));
  const double largest = std::sqrt(std::numbers::pi * n) * (1 + 0.125 / n);
  CHECK(near(heavy->expected_order_statistic(n, n), largest, 1e-11));
  const auto uniform = law_of(R"({"distribution": "uniform", "low": 1, "high": 2})");
  CHECK(near(uniform->expected_order_statistic(n / 2, n), 1 + 500'000 / 1'000'001.0, 1e-15));
  const auto stragglers =
      law_of(R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 1e-6})");
  CHECK(
      near(stragglers->expected_order_statistic(n, n), 2 - std::exp(n * std::log1p(-1e-6)), 1e-12));
}

/// The index G of a law: E[X_{1:2}] = E[X] (1 - G), E[X_{2:2}] = E[X] (1 + G).
struct Gini {
  const char* json;
  double index;
};

TEST_CASE("order statistics: two draws give the family's Gini index") {
  const Gini known[] = {
      {R"({"distribution": "gamma", "shape": 0.3, "scale": 2})",
       std::tgamma(0.8) / (std::sqrt(std::numbers::pi) * std::tgamma(1.3))},
      {R"({"distribution": "gamma", "shape": 5, "scale": 1})",
       std::tgamma(5.5) / (std::sqrt(std::numbers::pi) * std::tgamma(6))},
      {R"({"distribution": "lognormal", "mu": 1, "sigma": 0.5})", std::erf(0.25)},
      {R"({"distribution": "lognormal", "mu": 1, "sigma": 3})", std::erf(1.5)},
      {R"({"distribution": "weibull", "scale": 2, "shape": 0.5})", 1 - std::exp2(-2)},
      {R"({"distribution": "weibull", "scale": 2, "shape": 4})", 1 - std::exp2(-0.25)},
      {R"({"distribution": "normal", "mean": 0, "sd": 3})", std::numbers::sqrt2 - 1},
  };
  for (const auto& [json, index] : known) {
    CAPTURE(std::string(json));
    const auto law = law_of(json);
    CHECK(near(law->expected_order_statistic(2, 2), law->mean() * (1 + index), 1e-10));
    CHECK(near(law->expected_order_statistic(1, 2), law->mean() * (1 - index), 1e-10));
  }
}

TEST_CASE("weibull: order statistics equal the alternating sum, and the smallest its closed form") {
  for (const double shape : {0.5, 1.5, 3.0}) {
    const auto law = law_of(R"({"distribution": "weibull", "scale": 1, "shape": )" +
                            std::to_string(shape) + "}");
    constexpr std::uint32_t n = 8;
    for (std::uint32_t k = 1; k <= n; ++k) {
      // k C(n, k) sum over i of (-1)^i C(k-1, i) Gamma(1 + 1/c) / (n-k+1+i)^(1 + 1/c)
      long double sum = 0;
      long double choose = 1;
      for (std::uint32_t i = 0; i < k; ++i) {
        sum += choose * std::pow(static_cast<long double>(n - k + 1 + i), -1 - 1 / shape);
        choose *= -static_cast<long double>(k - 1 - i) / (i + 1);
      }
      double count = k;  // k C(n, k)
      for (std::uint32_t i = 0; i < k; ++i) count *= static_cast<double>(n - i) / (i + 1);
      CAPTURE(shape);
      CAPTURE(k);
      const double expected = count * std::tgamma(1 + 1 / shape) * static_cast<double>(sum);
      CHECK(near(law->expected_order_statistic(k, n), expected, 1e-10));
      CHECK(near(integrate_order_statistic(*law, k, n), expected, 1e-10));
    }
  }
}

TEST_CASE("hyperexponential: the smaller of two is hyperexponential too") {
  const auto law = law_of(R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1],
                              "means": [0.5, 5.5]})");
  const double smaller = 0.81 * 0.25 + 0.18 / (1 / 0.5 + 1 / 5.5) + 0.01 * 2.75;
  CHECK(near(law->expected_order_statistic(1, 2), smaller, 1e-10));
  CHECK(near(law->expected_order_statistic(2, 2), 2 - smaller, 1e-10));
}

TEST_CASE("mixture: atoms count fully in order statistics") {
  const auto atoms = law_of(R"({"distribution": "mixture", "weights": [0.9, 0.1], "parts": [
      {"distribution": "deterministic", "value": 1},
      {"distribution": "deterministic", "value": 10}]})");
  const auto same =
      law_of(R"({"distribution": "two-point", "low": 1, "high": 10, "probability": 0.1})");
  const auto half = law_of(R"({"distribution": "mixture", "weights": [1, 1], "parts": [
      {"distribution": "deterministic", "value": 1},
      {"distribution": "exponential", "mean": 1}]})");
  for (const std::uint32_t n : {1u, 8u, 1000u}) {
    for (const auto k : some_k(n)) {
      CAPTURE(k);
      CAPTURE(n);
      CHECK(
          near(atoms->expected_order_statistic(k, n), same->expected_order_statistic(k, n), 1e-10));
    }
  }
  // S = (1 + e^-x) / 2 before 1, e^-x / 2 from there.
  const double e = std::exp(-1);
  const double smaller = (1 + 2 * (1 - e) + (1 - e * e) / 2) / 4 + e * e / 8;
  CHECK(near(half->expected_order_statistic(1, 2), smaller, 1e-12));
  CHECK(near(half->expected_order_statistic(2, 2), 2 - smaller, 1e-12));
}

// 10^5 times 8 draws, all k; bound 4 standard errors of the mean, estimated from the draws.
TEST_CASE("order statistics: a simulation of eight learners gives the same means") {
  constexpr std::uint32_t n = 8;
  constexpr std::uint32_t rounds = 100'000;
  for (const std::string json : {
           R"({"distribution": "gamma", "shape": 0.5, "scale": 1})",
           R"({"distribution": "gamma", "shape": 4, "scale": 1})",
           R"({"distribution": "weibull", "scale": 1, "shape": 0.7})",
           R"({"distribution": "lognormal", "mu": 0, "sigma": 0.8})",
           R"({"distribution": "normal", "mean": 1, "sd": 1})",
           R"({"distribution": "normal", "mean": -2, "sd": 1})",
           R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1],
               "means": [0.5, 5.5]})",
           R"({"distribution": "mixture", "weights": [1, 2, 1], "parts": [
               {"distribution": "deterministic", "value": 1},
               {"distribution": "uniform", "low": 0.5, "high": 2},
               {"distribution": "exponential", "mean": 3}]})",
       }) {
    CAPTURE(json);
    const auto law = law_of(json);
    std::vector<double> sum(n), squares(n), x(n);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint32_t learner = 0; learner < n; ++learner) {
        auto words = stream({.seed = 11, .learner = learner, .draw = round});
        x[learner] = law->sample(words);
      }
      std::sort(x.begin(), x.end());
      for (std::uint32_t i = 0; i < n; ++i) {
        sum[i] += x[i];
        squares[i] += x[i] * x[i];
      }
    }
    for (std::uint32_t k = 1; k <= n; ++k) {
      CAPTURE(k);
      const double mean = sum[k - 1] / rounds;
      const double error = std::sqrt((squares[k - 1] / rounds - mean * mean) / rounds);
      CHECK(std::abs(mean - law->expected_order_statistic(k, n)) <= 4 * error + 1e-12);
    }
  }
}

// E[max] of independent exponential draws: over all sets of them, 1 / the sum of their rates, with
// the sign - where the set is even.
TEST_CASE("order statistics: the largest of draws of several laws") {
  const double rates[] = {1, 2, 5, 0.01};
  std::vector<std::shared_ptr<const Distribution>> laws;
  std::vector<Draws> draws;
  for (const double rate : rates) {
    laws.push_back(
        law_of(R"({"distribution": "exponential", "mean": )" + std::to_string(1 / rate) + "}"));
    draws.push_back({laws.back().get(), 1});
  }
  double expected = 0;
  for (unsigned set = 1; set < 16; ++set) {
    double rate = 0;
    int sign = -1;
    for (unsigned i = 0; i < 4; ++i)
      if (set >> i & 1) rate += rates[i], sign = -sign;
    expected += sign / rate;
  }
  CHECK(near(integrate_largest(draws), expected, 1e-9));

  const auto one = law_of(exponential), fixed = law_of(R"({"distribution": "deterministic",
                                                           "value": 2})");
  const Draws some[] = {{one.get(), 3}, {one.get(), 5}};
  CHECK(near(integrate_largest(some), harmonic_difference(8, 8), 1e-9));
  CHECK(near(integrate_largest(some, 1.5), one->expected_capped_order_statistic(8, 8, 1.5), 1e-9));
  // max(2, X) = 2 + (X - 2)+.
  const Draws mixed[] = {{one.get(), 1}, {fixed.get(), 4}};
  CHECK(near(integrate_largest(mixed), 2 + std::exp(-2.0), 1e-9));
  CHECK(near(integrate_largest(mixed, 1), 1, 1e-9));
}

// Of exponential laws of rates a, b and c, E[X_{2:3}] is the sum over pairs of 1 / (their rates)
// less 2 / (a + b + c).
TEST_CASE("order statistics: the k-th smallest of draws of several laws") {
  const auto fast = law_of(R"({"distribution": "exponential", "mean": 0.5})"),
             usual = law_of(R"({"distribution": "exponential", "mean": 1})"),
             slow = law_of(R"({"distribution": "exponential", "mean": 5})");
  const Draws unlike[] = {{fast.get(), 1}, {usual.get(), 1}, {slow.get(), 1}};
  CHECK(near(integrate_kth_smallest(unlike, 1), 1 / 3.2, 1e-9));
  CHECK(near(integrate_kth_smallest(unlike, 2), 1 / 3.0 + 1 / 2.2 + 1 / 1.2 - 2 / 3.2, 1e-9));
  CHECK(near(integrate_kth_smallest(unlike, 3), integrate_largest(unlike), 1e-9));

  for (const char* json :
       {R"({"distribution": "pareto", "scale": 1, "shape": 1.2})",
        R"({"distribution": "normal", "mean": 1, "sd": 0.01})",
        R"({"distribution": "uniform", "low": 1, "high": 2})",
        R"({"distribution": "two-point", "low": 1, "high": 9, "probability": 0.3})"}) {
    CAPTURE(std::string(json));
    const auto law = law_of(json), same = law_of(json);
    const Draws alike[] = {{law.get(), 5}, {same.get(), 3}};
    for (std::uint32_t k = 1; k <= 8; ++k)
      CHECK(near(integrate_kth_smallest(alike, k), law->expected_order_statistic(k, 8), 1e-8));
  }
}

TEST_CASE("order statistics: a k outside 1 to n is our mistake") {
  const auto law = law_of(R"({"distribution": "gamma", "shape": 2, "scale": 1})");
  CHECK_THROWS_AS(law->expected_order_statistic(0, 4), BrokenInvariant);
  CHECK_THROWS_AS(law->expected_order_statistic(5, 4), BrokenInvariant);
}

double draw(const Distribution& law, std::uint32_t k, std::uint32_t n, std::uint32_t number) {
  Stream words = stream({.purpose = Purpose::order_statistic, .draw = number});
  return law.sample_order_statistic(k, n, words);
}

/// The greatest distance between the distribution function of the values and the one whose survival
/// function is given, on both sides of every value.
template <class Survival>
double kolmogorov_distance(std::vector<double> x, Survival survival) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (std::size_t i = 0; i < x.size();) {
    std::size_t next = i;
    while (next < x.size() && x[next] == x[i]) ++next;
    const double below = 1 - survival(std::nextafter(x[i], -1.0)), at = 1 - survival(x[i]);
    distance = std::max({distance, std::abs(static_cast<double>(i) / n - below),
                         std::abs(static_cast<double>(next) / n - at)});
    i = next;
  }
  return distance;
}

// Kolmogorov and Smirnov's test of 2,000 draws at 1e-4, for every law and each of 11 pairs of k and
// n; seed 1.
TEST_CASE("order statistics: one draw has the law of the k-th smallest of n") {
  constexpr std::uint32_t draws = 2000, million = 1'000'000;
  const double bound = std::sqrt(std::log(2 / 1e-4) / 2 / draws);
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (const auto& [k, n] :
         std::initializer_list<std::pair<std::uint32_t, std::uint32_t>>{{1, 1},
                                                                        {1, 2},
                                                                        {2, 2},
                                                                        {1, 8},
                                                                        {4, 8},
                                                                        {8, 8},
                                                                        {999, 1000},
                                                                        {1, million},
                                                                        {million / 2, million},
                                                                        {million - 1, million},
                                                                        {million, million}}) {
      CAPTURE(k);
      CAPTURE(n);
      std::vector<double> x(draws);
      for (std::uint32_t i = 0; i < draws; ++i) x[i] = draw(*law, k, n, i);
      const auto survival = [&, k = k, n = n](double at) {
        return at_least_k_of_n(n - k + 1, n, law->survival(at));
      };
      CHECK(kolmogorov_distance(x, survival) <= bound);
    }
  }
}

// 100,000 draws, 4 standard errors; that of the largest is 1.28 sd(X), of the others less.
TEST_CASE("order statistics: draws of exponentials have Renyi's mean, up to n = 2^24") {
  constexpr std::uint32_t draws = 100'000, most = 1 << 24;
  const auto law = law_of(exponential);
  for (const std::uint32_t k : {1u, 2u, most / 2, most - 1, most}) {
    CAPTURE(k);
    Mean mean;
    for (std::uint32_t i = 0; i < draws; ++i) mean.add(draw(*law, k, most, i));
    CHECK(mean.agrees(law->expected_order_statistic(k, most)));
  }
}

}  // namespace
}  // namespace gradrace::order_statistics_test
