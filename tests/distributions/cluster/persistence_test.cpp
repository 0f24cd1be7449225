#include "distributions/cluster/persistence.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/clusters.h"
#include "tests/support/mean.h"

namespace gradrace::persistence_test {
namespace {

constexpr std::uint32_t learners = 20'000, draws = 51;

/// Factors of 20,000 learners at 51 draws, seed 1: [learner][draw].
std::vector<std::vector<double>> factors(const std::string& persistence) {
  const auto runtimes =
      runtimes_of(R"({"runtime": {"distribution": "deterministic", "value": 1}, "persistence": )" +
                      persistence + "}",
                  learners);
  std::vector<std::vector<double>> result(learners);
  for (std::uint32_t learner = 0; learner < learners; ++learner) {
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      result[learner].push_back(runtimes->duration(learner, draw, 0, 1));
    }
  }
  return result;
}

/// The mean over learners.
Mean over_learners(const std::vector<std::vector<double>>& of,
                   const std::function<double(const std::vector<double>&)>& value) {
  Mean mean;
  for (const auto& learner : of) mean.add(value(learner));
  return mean;
}

// 20,000 learners, each an independent chain; every mean within four standard errors.
TEST_CASE("markov: it starts in the stationary law and stays there, with its correlations") {
  constexpr double factor = 5, enter = 0.05, leave = 0.2, slow = enter / (enter + leave);
  const auto of = factors(R"({"kind": "markov", "factor": 5, "enter": 0.05, "leave": 0.2})");
  const double mean = 1 + (factor - 1) * slow;
  const double variance = (factor - 1) * (factor - 1) * slow * (1 - slow);
  for (const std::size_t draw : {0u, 1u, 5u, 50u}) {
    CAPTURE(draw);
    CHECK(over_learners(of, [&](const auto& x) { return x[draw] == factor; }).agrees(slow));
    CHECK(over_learners(of, [&](const auto& x) { return x[draw] == 1; }).agrees(1 - slow));
  }
  for (const std::size_t lag : {1u, 2u, 6u}) {
    CAPTURE(lag);
    const auto product = [&](const auto& x) {
      return (x[20] - mean) * (x[20 + lag] - mean) / variance;
    };
    CHECK(over_learners(of, product).agrees(std::pow(1 - enter - leave, lag)));
  }
}

TEST_CASE("markov: a slow stretch lasts 1 / leave minibatches") {
  Mean length;
  for (const auto& x : factors(R"({"kind": "markov", "factor": 2, "enter": 0.3, "leave": 0.5})")) {
    // The first stretch that begins after draw 0; one in 2^30 would reach past the end.
    std::size_t begin = 1;
    while (begin < 20 && !(x[begin - 1] == 1 && x[begin] == 2)) ++begin;
    if (begin == 20) continue;
    std::size_t end = begin;
    while (end < draws && x[end] == 2) ++end;
    length.add(static_cast<double>(end - begin));
  }
  CHECK(length.agrees(2));
}

TEST_CASE("ar1: it starts in the stationary law and stays there, with its correlations") {
  constexpr double correlation = 0.9, sd = 0.3, variance = sd * sd;
  const auto of = factors(R"({"kind": "ar1", "correlation": 0.9, "sd": 0.3})");
  const auto a = [](double factor) { return std::log(factor) + variance / 2; };
  for (const std::size_t draw : {0u, 1u, 50u}) {
    CAPTURE(draw);
    CHECK(over_learners(of, [&](const auto& x) { return x[draw]; }).agrees(1));
    CHECK(over_learners(of, [&](const auto& x) { return a(x[draw]); }).agrees(0));
    const auto square = [&](const auto& x) { return a(x[draw]) * a(x[draw]); };
    CHECK(over_learners(of, square).agrees(variance));
    const auto fourth = [&](const auto& x) { return std::pow(a(x[draw]), 4); };
    CHECK(over_learners(of, fourth).agrees(3 * variance * variance));
  }
  for (const std::size_t lag : {1u, 2u, 10u}) {
    CAPTURE(lag);
    const double rho = std::pow(correlation, lag);
    const auto product = [&](const auto& x) { return a(x[20]) * a(x[20 + lag]) / variance; };
    CHECK(over_learners(of, product).agrees(rho));
    const auto of_factors = [&](const auto& x) {
      return (x[20] - 1) * (x[20 + lag] - 1) / std::expm1(variance);
    };
    CHECK(over_learners(of, of_factors).agrees(std::expm1(rho * variance) / std::expm1(variance)));
  }
}

TEST_CASE("ar1: with correlation 1 a learner has one factor for ever, with sd 0 all have 1") {
  for (const auto& x : factors(R"({"kind": "ar1", "correlation": 1, "sd": 0.5})")) {
    REQUIRE(x[50] == x[0]);
  }
  for (const auto& x : factors(R"({"kind": "ar1", "correlation": 0.5, "sd": 0})")) {
    REQUIRE(x[50] == 1);
  }
}

TEST_CASE("persistence: learners have chains of their own") {
  for (const auto* kind : {R"({"kind": "markov", "factor": 5, "enter": 0.1, "leave": 0.1})",
                           R"({"kind": "ar1", "correlation": 0.9, "sd": 0.5})"}) {
    const auto of = factors(kind);
    const double mean = over_learners(of, [](const auto& x) { return x[10]; }).value();
    Mean product;
    for (std::size_t i = 0; i + 1 < of.size(); i += 2) {
      product.add((of[i][10] - mean) * (of[i + 1][10] - mean));
    }
    CHECK(product.agrees(0));
  }
}

TEST_CASE("persistence: a draw that is missing was walked through all the same") {
  const std::string kinds[] = {R"({"kind": "markov", "factor": 5, "enter": 0.3, "leave": 0.3})",
                               R"({"kind": "ar1", "correlation": 0.9, "sd": 0.5})"};
  for (const auto& kind : kinds) {
    const std::string json =
        R"({"runtime": {"distribution": "exponential", "mean": 1}, "persistence": )" + kind + "}";
    const auto all = runtimes_of(json), some = runtimes_of(json);
    for (std::uint32_t draw = 0; draw < 200; ++draw) {
      const double time = all->duration(3, draw, 0, 1);
      if (draw % 7 == 2 || draw % 11 == 5) CHECK(some->duration(3, draw, 0, 1) == time);
    }
  }
}

}  // namespace
}  // namespace gradrace::persistence_test
