#include "distributions/cluster/outliers.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/clusters.h"
#include "tests/support/laws.h"
#include "tests/support/mean.h"

namespace gradrace::outliers_test {
namespace {

constexpr std::uint32_t learners = 100, draws = 4000;

std::string with_outliers(const std::string& outliers) {
  return R"({"runtime": {"distribution": "uniform", "low": 1, "high": 2}, "outliers": )" +
         outliers + "}";
}

/// Number of outliers, minibatches that take more than 2, at each of 4,000 draws of 100 learners,
/// seed 1: its mean, and its variance if the mean is known.
struct Counts {
  Mean mean, variance;
  Counts(const std::string& outliers, double expected) {
    const auto runtimes = runtimes_of(with_outliers(outliers), learners);
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      double count = 0;
      for (std::uint32_t learner = 0; learner < learners; ++learner) {
        count += runtimes->duration(learner, draw, 0, 1) > 2;
      }
      mean.add(count);
      variance.add((count - expected) * (count - expected));
    }
  }
};

TEST_CASE("outliers: of a fixed probability they are independent") {
  constexpr double p = 0.05;
  const Counts counts(
      R"({"probability": 0.05, "runtime": {"distribution": "deterministic", "value": 9}})",
      learners * p);
  CHECK(counts.mean.agrees(learners * p));
  CHECK(counts.variance.agrees(learners * p * (1 - p)));
}

// N outliers of P learners given q are binomial, so Var N = P E[q] (1 - E[q]) + P (P - 1) Var q: as
// of the beta-binomial law, for any law of q.
TEST_CASE("outliers: of a shared probability they come in crowds") {
  const struct {
    const char* law;
    double mean, variance;
  } laws[] = {
      {R"({"distribution": "gamma", "shape": 3.2, "scale": 0.0045625})", 0.0146,
       0.0146 * 0.0045625},
      {R"({"distribution": "uniform", "low": 0, "high": 0.5})", 0.25, 0.25 / 12},
      {R"({"distribution": "two-point", "low": 0, "high": 3, "probability": 0.2})", 0.2, 0.16},
  };
  for (const auto& [law, mean, variance] : laws) {
    CAPTURE(std::string(law));
    const Counts counts(R"({"probability_law": )" + std::string(law) +
                            R"(, "runtime": {"distribution": "deterministic", "value": 9}})",
                        learners * mean);
    CHECK(counts.mean.agrees(learners * mean));
    CHECK(counts.variance.agrees(learners * mean * (1 - mean) +
                                 learners * (learners - 1) * variance));
  }
}

TEST_CASE("outliers: who is none keeps the time it would have had, who is one takes its law's") {
  const auto law = law_of(R"({"distribution": "uniform", "low": 1, "high": 2})");
  const auto runtimes = runtimes_of(with_outliers(
      R"({"probability": 0.5, "runtime": {"distribution": "pareto", "scale": 3, "shape": 2}})"));
  Mean over_six;
  for (std::uint32_t draw = 0; draw < 10'000; ++draw) {
    const double time = runtimes->duration(5, draw, 0, 1);
    if (time > 2) {
      over_six.add(time > 6);
    } else {
      REQUIRE(time == law->draw({1, 0, Purpose::runtime, 5, draw}));
    }
  }
  CHECK(over_six.agrees(0.25));  // (3 / 6)^2
}

TEST_CASE("outliers: none takes longer than `most`") {
  const auto runtimes = runtimes_of(with_outliers(R"({"probability": 1, "most": 4,
                        "runtime": {"distribution": "pareto", "scale": 3, "shape": 2}})"));
  Mean capped;
  for (std::uint32_t draw = 0; draw < 10'000; ++draw) {
    const double time = runtimes->duration(0, draw, 0, 1);
    REQUIRE(time >= 3);
    REQUIRE(time <= 4);
    capped.add(time == 4);
  }
  CHECK(capped.agrees(9.0 / 16));
}

}  // namespace
}  // namespace gradrace::outliers_test
