#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/laws.h"

namespace gradrace::sampling_test {
namespace {

/// One draw each from n streams, as learners take them: 8 learners in turn.
std::vector<double> draws(const Distribution& law, std::size_t n, std::uint64_t seed) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto words = stream({.seed = seed,
                         .learner = static_cast<std::uint32_t>(i % 8),
                         .draw = static_cast<std::uint32_t>(i / 8)});
    x[i] = law.sample(words);
  }
  return x;
}

TEST_CASE("distributions: draws taken together are those taken one by one, bit for bit") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    for (std::uint32_t learner = 0; learner < 1000; ++learner) {
      StreamName name{.seed = 3, .replica = 2, .learner = learner, .draw = 8 * (learner % 4)};
      std::array<double, StreamsOfDraws::size> together;
      law->draws(name, together);
      for (const double time : together) {
        REQUIRE(std::bit_cast<std::uint64_t>(time) ==
                std::bit_cast<std::uint64_t>(law->draw(name)));
        ++name.draw;
      }
    }
  }
}

/// Mean of (x - centre)^power.
double moment(const std::vector<double>& x, double centre, int power) {
  double sum = 0;
  for (const double value : x) sum += std::pow(value - centre, power);
  return sum / static_cast<double>(x.size());
}

bool has_fourth_moment(const std::string& json) {
  return json.find("pareto") == std::string::npos ||
         json.find("\"shape\": 5") != std::string::npos ||
         json.find("\"shape\": 6") != std::string::npos;
}

// 10^6 draws, bound 4 standard errors: the exact one for the mean where the variance is finite, the
// draws' own for the variance where a fourth moment exists.
TEST_CASE("distributions: mean and variance of a million draws are those of the law") {
  constexpr std::size_t n = 1'000'000;
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    if (std::isinf(law->variance())) continue;
    const auto x = draws(*law, n, 1);
    const double off = moment(x, law->mean(), 1);
    CHECK(std::abs(off) <= 4 * std::sqrt(law->variance() / n));
    if (!has_fourth_moment(json)) continue;
    const double variance = moment(x, law->mean(), 2);
    const double error = std::sqrt((moment(x, law->mean(), 4) - variance * variance) / n);
    CHECK(std::abs(variance - law->variance()) <= 4 * error);
  }
}

/// The greatest distance between the draws' distribution function and the law's, on both sides of
/// every draw, so that jumps are measured exactly.
double kolmogorov_distance(std::vector<double> x, const Distribution& law) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (std::size_t i = 0; i < x.size();) {
    std::size_t next = i;
    while (next < x.size() && x[next] == x[i]) ++next;
    const double below = 1 - law.survival(std::nextafter(x[i], -1.0));
    const double at = 1 - law.survival(x[i]);
    distance = std::max({distance, std::abs(static_cast<double>(i) / n - below),
                         std::abs(static_cast<double>(next) / n - at)});
    i = next;
  }
  return distance;
}

// Kolmogorov and Smirnov's test at 1 %, n = 10^5; where the law jumps, the bound is wider than
// that.
TEST_CASE("distributions: draws follow the survival function") {
  constexpr std::size_t n = 100'000;
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    CHECK(kolmogorov_distance(draws(*law, n, 2), *law) <= 1.63 / std::sqrt(n));
  }
}

// 2 x 10^6 draws, 4 standard errors of the count.  A sampler that makes its tail from a uniform of
// 32 bits, or forgets it, is seen here and not by the tests above.
TEST_CASE("distributions: as many draws as there should be lie far out") {
  constexpr std::size_t n = 2'000'000;
  constexpr double tail = 1e-4;
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    const double far = law->quantile(1 - tail);
    const double p = law->survival(far);
    const auto x = draws(*law, n, 3);
    const auto count = std::count_if(x.begin(), x.end(), [&](double at) { return at > far; });
    CHECK(std::abs(static_cast<double>(count) - n * p) <= 4 * std::sqrt(n * p * (1 - p)));
  }
}

TEST_CASE("distributions: equal stream names give equal draws, other names other draws") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    const auto first = draws(*law, 1000, 7);
    CHECK(first == draws(*law_of(json), 1000, 7));
    if (law->variance() > 0) CHECK(first != draws(*law, 1000, 8));
  }
}

TEST_CASE("distributions: no draw is negative or beyond the support") {
  for (const auto& json : many_laws()) {
    CAPTURE(json);
    const auto law = law_of(json);
    const auto x = draws(*law, 100'000, 5);
    CHECK(*std::min_element(x.begin(), x.end()) >= law->quantile(0));
    const double most = *std::max_element(x.begin(), x.end());
    CHECK(std::isfinite(most));
    CHECK(law->survival(most * (1 - 1e-12)) > 0);
  }
}

}  // namespace
}  // namespace gradrace::sampling_test
