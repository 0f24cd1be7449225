#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "distributions/order_statistics.h"
#include "tests/support/laws.h"

namespace gradrace::moments_test {
namespace {

using std::numbers::pi;

bool near(double value, double expected, double relative) {
  return std::abs(value - expected) <= relative * std::abs(expected);
}

TEST_CASE("distributions: the mean is the integral of the survival function") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    CHECK(near(integrate_order_statistic(*law, 1, 1), law->mean(), 1e-10));
  }
}

struct Moments {
  const char* json;
  double mean, variance;
};

TEST_CASE("distributions: mean and variance are those of the textbook") {
  const Moments known[] = {
      {R"({"distribution": "deterministic", "value": 3})", 3, 0},
      {R"({"distribution": "uniform", "low": 1, "high": 7})", 4, 3},
      {R"({"distribution": "exponential", "mean": 3})", 3, 9},
      {R"({"distribution": "shifted-exponential", "shift": 1, "mean": 3})", 4, 9},
      {R"({"distribution": "pareto", "scale": 1, "shape": 3})", 1.5, 0.75},
      {R"({"distribution": "pareto", "scale": 2, "shape": 2})", 4,
       std::numeric_limits<double>::infinity()},
      {R"({"distribution": "weibull", "scale": 3, "shape": 2})", 3 * std::sqrt(pi) / 2,
       9 * (1 - pi / 4)},
      {R"({"distribution": "weibull", "scale": 1, "shape": 0.5})", 2, 20},
      {R"({"distribution": "gamma", "shape": 4, "scale": 0.5})", 2, 1},
      {R"({"distribution": "gamma", "mean": 3, "cv": 0.5})", 3, 2.25},
      {R"({"distribution": "lognormal", "mean": 3, "cv": 0.5})", 3, 2.25},
      {R"({"distribution": "lognormal", "mu": 0, "sigma": 1})", std::exp(0.5),
       (std::exp(1) - 1) * std::exp(1)},
      {R"({"distribution": "normal", "mean": 0, "sd": 1})", std::sqrt(2 / pi), 1 - 2 / pi},
      {R"({"distribution": "normal", "mean": 50, "sd": 2})", 50, 4},
      {R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1],
           "means": [0.5, 5.5]})",
       1, 5.5},
      {R"({"distribution": "two-point", "low": 1, "high": 11, "probability": 0.1})", 2, 9},
      {R"({"distribution": "mixture", "weights": [1, 3], "parts": [
           {"distribution": "deterministic", "value": 4},
           {"distribution": "exponential", "mean": 2}]})",
       2.5, 0.25 * 16 + 0.75 * 8 - 6.25},
      {R"({"distribution": "roofline", "flop": 6, "flop_rate": 2})", 3, 0},
      {R"({"distribution": "roofline", "flop": 6, "flop_rate": 2, "bytes": 20, "bandwidth": 4,
           "jitter": {"distribution": "gamma", "mean": 2, "cv": 0.5}})",
       10, 25},
      {R"({"distribution": "roofline", "flop": 6, "flop_rate": 2, "bytes": 8, "bandwidth": 4,
           "jitter": {"distribution": "uniform", "low": 1, "high": 3}})",
       6, 3},
  };
  for (const auto& [json, mean, variance] : known) {
    CAPTURE(std::string(json));
    const auto law = law_of(json);
    CHECK(near(law->mean(), mean, 1e-14));
    if (std::isinf(variance)) {
      CHECK(law->variance() == variance);
    } else {
      CHECK(near(law->variance(), variance, 1e-13));
    }
  }
}

TEST_CASE("weibull: the variance at a great shape is pi^2 / (6 shape^2) of the scale") {
  const auto law = law_of(R"({"distribution": "weibull", "scale": 1, "shape": 1e6})");
  CHECK(near(law->variance(), pi * pi / 6 * 1e-12, 1e-5));
}

TEST_CASE("mixture: weights are divided by their sum") {
  const auto law = law_of(R"({"distribution": "mixture", "weights": [3, 1], "parts": [
      {"distribution": "exponential", "mean": 1}, {"distribution": "exponential", "mean": 5}]})");
  CHECK(near(law->mean(), 2, 1e-15));
  CHECK(near(law->survival(1), 0.75 * std::exp(-1.0) + 0.25 * std::exp(-0.2), 1e-15));
}

}  // namespace
}  // namespace gradrace::moments_test
