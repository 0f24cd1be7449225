#include "distributions/laws/shifted.h"

#include <doctest/doctest.h>

#include <cmath>

#include "distributions/ageing.h"
#include "distributions/order_statistics.h"
#include "tests/support/laws.h"

namespace gradrace::shifted_test {
namespace {

bool near(double value, double expected, double relative) {
  return std::abs(value - expected) <= relative * std::abs(expected);
}

TEST_CASE("shifted: of an exponential law, the shifted exponential law in another unit of time") {
  const auto law = shifted(law_of(R"({"distribution": "exponential", "mean": 3})"), 1, 2);
  const auto known =
      law_of(R"({"distribution": "shifted-exponential", "shift": 0.5, "mean": 1.5})");
  CHECK(law->mean() == known->mean());
  CHECK(law->variance() == known->variance());
  for (const double x : {-1.0, 0.2, 0.5, 0.6, 2.0, 30.0}) {
    CAPTURE(x);
    CHECK(near(law->survival(x), known->survival(x), 1e-14));
  }
  for (const double p : {0.0, 0.1, 0.5, 0.999}) {
    CHECK(near(law->quantile(p), known->quantile(p), 1e-14));
  }
  CHECK(near(law->expected_order_statistic(3, 8), known->expected_order_statistic(3, 8), 1e-14));
  CHECK(law->ageing() == known->ageing());
}

// E[max of 4] of m / 512 + exp(1) is m / 512 + H_4.  Source: Dutta et al., AISTATS 2018,
// supplement, Fig. 14, whose points lie 2.6, 4.1 and 6.15 apart.
TEST_CASE("shifted: the slowest of four learners at 256, 1024 and 2048 samples, rate 512") {
  const auto exponential = law_of(R"({"distribution": "exponential", "mean": 1})");
  const double h4 = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0;
  for (const double m : {256, 1024, 2048}) {
    CHECK(near(shifted(exponential, m / 512, 1)->expected_order_statistic(4, 4), m / 512 + h4,
               1e-14));
  }
}

TEST_CASE("shifted: its functions belong together, whatever the law") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto inner = law_of(json);
    const auto law = shifted(inner, 0.75, 4);
    CHECK(near(integrate_order_statistic(*law, 1, 1), law->mean(), 1e-9));
    CHECK(near(integrate_order_statistic(*law, 5, 8), law->expected_order_statistic(5, 8), 1e-9));
    CHECK(law->ageing() == ageing_on_grid(*law));
    for (const double p : {0.01, 0.5, 0.99}) {
      const double x = law->quantile(p);
      CHECK(law->survival(x * (1 + 1e-11)) <= 1 - p + 1e-8);
      CHECK(law->survival(x * (1 - 1e-11)) >= 1 - p - 1e-8);
    }
    Stream words = stream({.draw = 7}), same = stream({.draw = 7});
    CHECK(law->sample(words) == (inner->sample(same) + 0.75) / 4);
  }
}

TEST_CASE("shifted: new shorter than used does not survive a shift, nor does memorylessness") {
  const auto ageing = [](const char* json, double shift) {
    return shifted(law_of(json), shift, 2)->ageing();
  };
  const auto* exponential = R"({"distribution": "exponential", "mean": 1})";
  const auto* hyper =
      R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1], "means": [0.5, 5.5]})";
  CHECK(ageing(exponential, 0) == Ageing::memoryless);
  CHECK(ageing(exponential, 1e-3) == Ageing::new_longer);
  CHECK(ageing(hyper, 0) == Ageing::new_shorter);
  CHECK(ageing(hyper, 0.5) == Ageing::neither);
  // S(u + t) <= S(u) S(t) for all u, t from a shift on: exp(-shift / 5.5) < 0.1.
  CHECK(ageing(hyper, 20) == Ageing::new_longer);
  CHECK(ageing(R"({"distribution": "pareto", "scale": 1, "shape": 2})", 1) == Ageing::neither);
}

}  // namespace
}  // namespace gradrace::shifted_test
