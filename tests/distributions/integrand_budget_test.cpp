#include "distributions/integrand_budget.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "distributions/order_statistics.h"
#include "tests/support/laws.h"

namespace gradrace::integrand_budget_test {

namespace {

DistributionProduct gamma(std::size_t number) {
  return law_of(R"({"distribution": "gamma", "scale": 1, "shape": )" +
                std::to_string(2 + 0.001 * static_cast<double>(number)) + "}");
}

/// E of the slowest of so many learners, each of a law of its own.
double slowest(std::size_t learners) {
  std::vector<DistributionProduct> laws;
  std::vector<Draws> draws;
  for (std::size_t i = 0; i < learners; ++i) {
    laws.push_back(gamma(i));
    draws.push_back({laws.back().get(), 1});
  }
  return integrate_largest(draws);
}

DistributionProduct mixture(std::size_t parts) {
  std::string weights, laws;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::string comma = i > 0 ? ", " : "";
    weights += comma + "1";
    laws += comma + R"({"distribution": "gamma", "scale": 1, "shape": )" +
            std::to_string(2 + 0.001 * static_cast<double>(i)) + "}";
  }
  return law_of(R"({"distribution": "mixture", "weights": [)" + weights + R"(], "parts": [)" +
                laws + "]}");
}

}  // namespace

TEST_CASE("integrand budget: the first evaluation beyond it throws, without one none does") {
  IntegrandBudget::charge(~std::uint64_t{0});
  const IntegrandBudget budget(5);
  IntegrandBudget::charge(3);
  {
    const IntegrandBudget inner(1);
    CHECK_THROWS_AS(IntegrandBudget::charge(2), BudgetSpent);
  }
  IntegrandBudget::charge(2);
  CHECK_THROWS_AS(IntegrandBudget::charge(1), BudgetSpent);
}

TEST_CASE("integrand budget: few unlike learners are integrated, many are not") {
  const auto few = within_budget([] { return slowest(10); });
  REQUIRE(few);
  CHECK(*few == slowest(10));
  CHECK_FALSE(within_budget([] { return slowest(300); }));
}

TEST_CASE("integrand budget: an evaluation of a mixture is one of each part") {
  const auto law = mixture(300);
  CHECK_FALSE(within_budget([&] { return law->expected_order_statistic(4, 4); }));
  CHECK_FALSE(within_budget([&] { return mixture(100)->ageing(); }));
  CHECK(within_budget([] { return mixture(3)->expected_order_statistic(4, 4); }));
}

TEST_CASE("integrand budget: a mixture has the atoms of its parts") {
  CHECK_FALSE(mixture(3)->has_atoms());
  CHECK(law_of(R"({"distribution": "mixture", "weights": [1, 1], "parts": [
      {"distribution": "exponential", "mean": 1}, {"distribution": "deterministic", "value": 1}]})")
            ->has_atoms());
}

}  // namespace gradrace::integrand_budget_test
