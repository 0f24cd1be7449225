#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "distributions/law.h"
#include "tests/support/laws.h"

namespace gradrace::quantile_test {
namespace {

TEST_CASE("distributions: survival falls from 1 to 0 and never rises") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    CHECK(law->survival(-1) == 1);
    double before = 1;
    for (double x = 1e-6; x < 1e6; x *= 1.1) {
      const double now = law->survival(x);
      CHECK(now <= before);
      CHECK(now >= 0);
      before = now;
    }
    CHECK(law->survival(1e12) <= 1e-15);
  }
}

// One part in 1e11 beside the quantile, the survival function is on either side of 1 - p, up to
// 1e-8 of the smaller tail and the rounding of 1 - p.
TEST_CASE("distributions: the quantile is the place where survival falls to 1 - p") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (const double p :
         {1e-9, 1e-4, 0.01, 0.2, 0.25, 0.5, 0.7, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12}) {
      CAPTURE(p);
      const double x = law->quantile(p);
      const double slack = 1e-8 * std::min(p, 1 - p) + 1e-14;
      const double below = x > 0 ? x * (1 - 1e-11) : -1;
      CHECK(law->survival(x * (1 + 1e-11)) <= 1 - p + slack);
      CHECK(law->survival(below) >= 1 - p - slack);
    }
  }
}

// One part in 1e11 beside the place, the survival function is on either side of q, up to 1e-8 of q:
// far out too, where 1 - q is 1.
TEST_CASE("distributions: the inverse of survival is the place where it falls to q") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (const double q : {0.99, 0.7, 0.5, 0.25, 0.01, 1e-6, 1e-12, 1e-20, 1e-40}) {
      CAPTURE(q);
      const double x = law->inverse_survival(q);
      const double below = x > 0 ? x * (1 - 1e-11) : -1;
      CHECK(law->survival(x * (1 + 1e-11)) <= q * (1 + 1e-8));
      CHECK(law->survival(below) >= q * (1 - 1e-8));
    }
  }
}

TEST_CASE("distributions: the quantile of 1 - survival is the place again") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (const double u : {0.03, 0.3, 0.6, 0.95}) {
      const double x = law->quantile(u);
      CAPTURE(x);
      const double again = law->quantile(1 - law->survival(x));
      CHECK(std::abs(again - x) <= 1e-10 * x);
    }
  }
}

TEST_CASE("distributions: the quantile of 0 is the left end of the support") {
  const std::pair<const char*, double> ends[] = {
      {R"({"distribution": "deterministic", "value": 3})", 3},
      {R"({"distribution": "uniform", "low": 1, "high": 2})", 1},
      {R"({"distribution": "exponential", "mean": 3})", 0},
      {R"({"distribution": "shifted-exponential", "shift": 2, "mean": 3})", 2},
      {R"({"distribution": "pareto", "scale": 4, "shape": 3})", 4},
      {R"({"distribution": "weibull", "scale": 4, "shape": 3})", 0},
      {R"({"distribution": "gamma", "shape": 4, "scale": 3})", 0},
      {R"({"distribution": "lognormal", "mu": 4, "sigma": 3})", 0},
      {R"({"distribution": "normal", "mean": 100, "sd": 1})", 0},
      {R"({"distribution": "normal", "mean": -1, "sd": 1})", 0},
      {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.5], "means": [1, 2]})", 0},
      {R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 0.5})", 1},
      {R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 1})", 2},
      {R"({"distribution": "mixture", "weights": [1, 1], "parts": [
           {"distribution": "pareto", "scale": 4, "shape": 3},
           {"distribution": "deterministic", "value": 5}]})",
       4},
  };
  for (const auto& [json, left] : ends) {
    CAPTURE(std::string(json));
    CHECK(law_of(json)->quantile(0) == left);
    CHECK(law_of(json)->inverse_survival(1) == left);
  }
}

TEST_CASE("mixture: quantiles stand exactly on the atoms, and on the left end of a gap") {
  const auto atoms = law_of(R"({"distribution": "mixture", "weights": [1, 1, 2], "parts": [
      {"distribution": "deterministic", "value": 0.1},
      {"distribution": "deterministic", "value": 0.3},
      {"distribution": "exponential", "mean": 1}]})");
  const double before = 0.5 * -std::expm1(-0.3) + 0.25;  // P(X < 0.3)
  CHECK(atoms->quantile(before + 1e-9) == 0.3);
  CHECK(atoms->quantile(before + 0.2499) == 0.3);
  CHECK(atoms->quantile(before + 0.2501) > 0.3);
  CHECK(atoms->quantile(before - 1e-9) < 0.3);

  const auto gap = law_of(R"({"distribution": "mixture", "weights": [1, 1], "parts": [
      {"distribution": "uniform", "low": 0, "high": 1},
      {"distribution": "uniform", "low": 2, "high": 3}]})");
  CHECK(std::abs(gap->quantile(0.5) - 1) <= 1e-12);
  CHECK(std::abs(gap->quantile(0.5 + 1e-9) - 2) <= 1e-8);
}

TEST_CASE(
    "mixture: the breaks hold those of all parts and frame every part, ascending, each once") {
  const auto law = law_of(R"({"distribution": "mixture", "weights": [1, 1, 1], "parts": [
      {"distribution": "uniform", "low": 1, "high": 3},
      {"distribution": "two-point", "low": 2, "high": 3, "probability": 0.5},
      {"distribution": "exponential", "mean": 1e-3}]})");
  const auto breaks = breaks_of(*law);
  CHECK(std::adjacent_find(breaks.begin(), breaks.end(), std::greater_equal<>()) == breaks.end());
  for (const double at : {1.0, 2.0, 3.0}) {
    CHECK(std::binary_search(breaks.begin(), breaks.end(), at));
  }
  const auto within = [](double x) { return 1e-6 < x && x < 0.1; };
  CHECK(std::count_if(breaks.begin(), breaks.end(), within) >= 5);
}

}  // namespace
}  // namespace gradrace::quantile_test
