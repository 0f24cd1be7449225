#include "distributions/laws/largest.h"

#include <doctest/doctest.h>

#include <cmath>

#include "distributions/laws/shifted.h"
#include "distributions/measured.h"
#include "distributions/order_statistics.h"
#include "tests/support/laws.h"

namespace gradrace::largest_test {
namespace {

bool near(double value, double expected, double relative) {
  return std::abs(value - expected) <= relative * std::abs(expected);
}

TEST_CASE("largest: closed forms of exponential and uniform laws") {
  const auto exponential = largest(law_of(R"({"distribution": "exponential", "mean": 2})"), 8);
  double mean = 0, variance = 0;
  for (int i = 1; i <= 8; ++i) mean += 2.0 / i, variance += 4.0 / (i * i);
  CHECK(near(exponential->mean(), mean, 1e-14));
  CHECK(near(exponential->variance(), variance, 1e-8));
  // The slowest of three groups of eight is that of 24.
  CHECK(near(exponential->expected_order_statistic(3, 3), 2 * harmonic_difference(24, 24), 1e-14));
  const auto uniform = largest(law_of(R"({"distribution": "uniform", "low": 0, "high": 1})"), 5);
  CHECK(near(uniform->mean(), 5 / 6.0, 1e-12));
  CHECK(near(uniform->variance(), 5 / (36.0 * 7), 1e-8));
  const auto constant = law_of(R"({"distribution": "deterministic", "value": 3})");
  CHECK(largest(constant, 4) == constant);
  CHECK(largest(constant, 1) == constant);
}

TEST_CASE("largest: its functions belong together, whatever the law") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto inner = law_of(json);
    if (inner->has_memory()) continue;
    const auto law = largest(inner, 4);
    CHECK(near(integrate_order_statistic(*law, 1, 1), law->mean(), 1e-8));
    CHECK(near(integrate_order_statistic(*law, 3, 3), law->expected_order_statistic(3, 3), 1e-8));
    CHECK(law->has_atoms() == inner->has_atoms());
    CHECK(traces_of(*shifted(law, 1, 2)) == traces_of(*inner));
    for (const double p : {0.01, 0.5, 0.99}) {
      for (const double x : {law->quantile(p), law->inverse_survival(1 - p)}) {
        CHECK(law->survival(x + 1e-11 * (1 + x)) <= 1 - p + 1e-8);
        CHECK(law->survival(x - 1e-11 * (1 + x)) >= 1 - p - 1e-8);
      }
    }
    Stream words = stream({.draw = 7}), same = stream({.draw = 7});
    CHECK(law->sample(words) == inner->sample_order_statistic(4, 4, same));
  }
}

}  // namespace
}  // namespace gradrace::largest_test
