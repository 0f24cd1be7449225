#include <doctest/doctest.h>

#include <cmath>

#include "distributions/laws/shifted.h"
#include "tests/support/laws.h"

namespace gradrace::sum_test {
namespace {

/// 1e5 sums of three draws (seed 1): as many above each of its quantiles as it says, within 4
/// standard errors.
void check_sum(const Distribution& law) {
  constexpr std::uint32_t n = 3, draws = 100'000;
  const auto sum = law.sum(n);
  REQUIRE(sum);
  CHECK(sum->mean() == doctest::Approx(n * law.mean()).epsilon(1e-12));
  CHECK(sum->variance() == doctest::Approx(n * law.variance()).epsilon(1e-12));
  if (law.variance() == 0) return;
  for (const double p : {0.1, 0.5, 0.9}) {
    CAPTURE(p);
    const double place = sum->quantile(p);
    double below = 0;
    Stream words = stream({1, 0, Purpose::runtime, 0, 0});
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      double total = 0;
      for (std::uint32_t i = 0; i < n; ++i) total += law.sample(words);
      below += total <= place;
    }
    CHECK(std::abs(below / draws - p) <= 4 * std::sqrt(p * (1 - p) / draws));
  }
}

TEST_CASE("sum: every law that knows it") {
  int known = 0;
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    if (!law->sum(3)) continue;
    ++known;
    check_sum(*law);
    check_sum(*shifted(law, 0.5, 2));
  }
  CHECK(known >= 4);
  const auto pareto = law_of(R"({"distribution": "pareto", "scale": 1, "shape": 3})");
  CHECK_FALSE(pareto->sum(3));
  CHECK_FALSE(shifted(pareto, 1, 1)->sum(3));
}

// P(X > x) = (1 + x) e^-x.
TEST_CASE("sum: two exponential draws") {
  const auto sum = law_of(R"({"distribution": "exponential", "mean": 1})")->sum(2);
  for (const double x : {0.0, 0.5, 2.0, 9.0})
    CHECK(sum->survival(x) == doctest::Approx((1 + x) * std::exp(-x)).epsilon(1e-13));
}

}  // namespace
}  // namespace gradrace::sum_test
