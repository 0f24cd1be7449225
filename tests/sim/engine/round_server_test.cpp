#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/reading/problem.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/run_numbers.h"

namespace gradrace::round_server_test {

namespace {

const char* const exponential = R"({"distribution": "exponential", "mean": 1})";

/// P = 1, K = 1, 1 < K < P and K = P; heavy tails, atoms, and laws whose quantiles are sought.
std::vector<Case> cases() {
  return {
      {1, R"({"kind": "sync"})", exponential},
      {8, R"({"kind": "hardsync"})", exponential},
      {30, R"({"kind": "sync"})", R"({"distribution": "pareto", "scale": 1, "shape": 5})"},
      {1, R"({"kind": "k-sync", "k": 1})", R"({"distribution": "gamma", "shape": 3, "scale": 1})"},
      {8, R"({"kind": "k-sync", "k": 1})", exponential},
      {8, R"({"kind": "k-sync", "k": 4})",
       R"({"distribution": "shifted-exponential", "shift": 1, "mean": 1})"},
      {9, R"({"kind": "k-sync", "k": 9})",
       R"({"distribution": "lognormal", "mu": 0, "sigma": 0.5})"},
      {12, R"({"kind": "k-sync", "k": 11})",
       R"({"distribution": "two-point", "low": 1, "high": 5, "probability": 0.2})"},
      {100, R"({"kind": "k-sync", "k": 90})",
       R"({"distribution": "weibull", "scale": 1, "shape": 0.7})"},
      {6, R"({"kind": "backup", "backups": 2, "late": "cancel"})",
       R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1], "means": [0.5, 5.5]})"},
      {6, R"({"kind": "backup", "k": 6, "late": "cancel"})",
       R"({"distribution": "normal", "mean": 1, "sd": 0.5})"},
      {5, R"({"kind": "backup", "backups": 1, "late": "cancel"})",
       R"({"distribution": "mixture", "weights": [3, 1], "parts": [
           {"distribution": "uniform", "low": 1, "high": 2},
           {"distribution": "exponential", "mean": 4}]})"},
  };
}

Race race_by(const char* sampler, const Case& one, const std::string& rest) {
  return point_from(json_of(one, rest + R"(, "sampler": ")" + sampler + '"')).race();
}

/// The greatest difference of two empirical distribution functions.
double distance(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double most = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}

/// The means of both samplers, over 400 replicas each, differ by no more than 4 standard errors.
void check_means(const Case& one, const std::string& rest) {
  constexpr std::uint32_t replicas = 400;
  CAPTURE(one.protocol);
  CAPTURE(one.runtime);
  std::vector<Mean> means[2];
  for (const std::size_t drawn : {0u, 1u}) {
    const Race race = race_by(drawn ? "order-statistic" : "events", one, rest);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      const auto numbers =
          numbers_of(drawn ? run_timing(race, replica) : run_by_events(race, replica));
      means[drawn].resize(numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) means[drawn][i].add(numbers[i]);
    }
  }
  REQUIRE(means[0].size() == means[1].size());
  for (std::size_t i = 0; i < means[0].size(); ++i) {
    CAPTURE(i);
    const double error = std::hypot(means[0][i].error(), means[1][i].error());
    CHECK(std::abs(means[0][i].value() - means[1][i].value()) <=
          4 * error + 1e-12 * std::abs(means[0][i].value()));
  }
}

}  // namespace

TEST_CASE("rounds: every number is that by events, bit for bit") {
  std::vector<Case> all = cases();
  for (const char* const protocol : {R"({"kind": "sync"})", R"({"kind": "k-sync", "k": 3})",
                                     R"({"kind": "backup", "backups": 2, "late": "cancel"})"})
    all.push_back({5, protocol, R"({"distribution": "deterministic", "value": 0.7})"});
  all.push_back({100, R"({"kind": "k-sync", "k": 50})",
                 R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 0.5})"});
  // Many minibatches take less time than the clock can tell.
  all.push_back(
      {8, R"({"kind": "sync"})", R"({"distribution": "gamma", "shape": 0.05, "scale": 20})"});
  all.push_back({8, R"({"kind": "k-sync", "k": 7})",
                 R"({"distribution": "gamma", "shape": 0.05, "scale": 20})"});
  for (const Case& one : all) check_equals_events(one);
}

TEST_CASE("rounds: a run whose times overflow, or stand still, fails as by events") {
  for (const char* const runtime :
       {R"({"distribution": "two-point", "low": 1, "high": 1e308, "probability": 0.5})",
        R"({"distribution": "two-point", "low": 1, "high": 1e20, "probability": 0.01})"})
    check_fails_as_by_events({3, R"({"kind": "k-sync", "k": 2})", runtime},
                             R"("stop": {"updates": 1000000})");
}

TEST_CASE("order statistics: all that files have has the mean that it has by events") {
  for (const Case& one : cases()) {
    check_means(one, R"("stop": {"time": 25}, "record": {"every_time": 5})");
    check_means(one, R"("stop": {"updates": 30}, "record": {"every_updates": 10})");
    check_means(one, R"("stop": {"epochs": 50}, "record": {"every_epochs": 10})");
    check_means(one, R"("stop": {"gradients": 100})");
  }
}

// Also where an update, an evaluation and the end of the run are at one time.
TEST_CASE("order statistics: with constant runtimes every number is that by events") {
  for (const std::string protocol : {R"({"kind": "sync"})", R"({"kind": "k-sync", "k": 3})",
                                     R"({"kind": "backup", "backups": 2, "late": "cancel"})"}) {
    const Case one{5, protocol, R"({"distribution": "deterministic", "value": 0.7})"};
    for (const std::string rest :
         {R"("stop": {"time": 7}, "record": {"every_time": 1.4})",
          R"("stop": {"updates": 20}, "record": {"every_updates": 7})",
          R"("stop": {"gradients": 100, "updates": 19}, "record": {"every_epochs": 0.5})"}) {
      CHECK(numbers_of(run_by_events(race_by("events", one, rest))) ==
            numbers_of(run_timing(race_by("order-statistic", one, rest))));
    }
  }
}

// Of 400 and 400 draws of one law the distance is above 0.138 once in a thousand times
// (Kolmogorov and Smirnov, 1.95 sqrt(2 / 400)).  Updates that draw on each other keep every mean,
// and change how far the time of many scatters.
TEST_CASE("order statistics: the time of many updates has the law that it has by events") {
  for (const Case& one : cases()) {
    CAPTURE(one.protocol);
    CAPTURE(one.runtime);
    std::vector<double> times[2];
    for (const std::size_t drawn : {0u, 1u}) {
      const Race race =
          race_by(drawn ? "order-statistic" : "events", one, R"("stop": {"updates": 30})");
      for (std::uint32_t replica = 0; replica < 400; ++replica)
        times[drawn].push_back(run_timing(race, replica).totals.time);
    }
    CHECK(distance(times[0], times[1]) < 0.138);
  }
}

TEST_CASE("order statistics: iteration times do not depend on those before") {
  constexpr std::size_t updates = 10'000;
  for (const Case& one : cases()) {
    CAPTURE(one.runtime);
    const Race race = race_by("order-statistic", one,
                              R"("stop": {"updates": 10000}, "record": {"every_updates": 1})");
    const RaceRecord record = run_timing(race);
    std::vector<double> times;
    for (std::size_t i = 1; i < record.curve.size(); ++i)
      times.push_back(record.curve[i].point.time - record.curve[i - 1].point.time);
    REQUIRE(times.size() == updates);
    std::vector<double> squeezed(times.size());  // so that heavy tails do no harm
    for (std::size_t i = 0; i < times.size(); ++i) squeezed[i] = std::atan(times[i]);
    double mean = 0, variance = 0, covariance = 0;
    for (const double x : squeezed) mean += x / updates;
    for (std::size_t i = 0; i < updates; ++i) {
      variance += (squeezed[i] - mean) * (squeezed[i] - mean);
      if (i > 0) covariance += (squeezed[i] - mean) * (squeezed[i - 1] - mean);
    }
    CHECK(std::abs(covariance / variance) < 4 / std::sqrt(static_cast<double>(updates)));
  }
}

TEST_CASE("order statistics: equal speeds and a rate are in the law") {
  const Case one{4, R"({"kind": "k-sync", "k": 3})",
                 std::string(exponential) + R"(, "speeds": [2, 2], "rate": 6)"};
  check_means(one, R"("stop": {"updates": 30})");
}

TEST_CASE("order statistics: a run is the same wherever its tape is cut, another replica is not") {
  const Race race =
      race_by("order-statistic", {1000000, R"({"kind": "k-sync", "k": 500000})", exponential},
              R"("stop": {"updates": 3000})");
  const auto time = [&](std::uint32_t replica, std::uint32_t limit) {
    return run_race({race, replica, limit}, nullptr).totals.time;
  };
  CHECK(time(0, 4096) == time(0, 7));
  CHECK(time(0, 4096) != time(1, 4096));
}

}  // namespace gradrace::round_server_test
