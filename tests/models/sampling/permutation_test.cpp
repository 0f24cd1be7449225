#include "models/datasets/permutation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace gradrace::permutation_test {

static std::vector<std::uint32_t> order(const StreamName& name, std::uint32_t n) {
  const Permutation permutation(name, n);
  std::vector<std::uint32_t> result(n);
  for (std::uint32_t i = 0; i < n; ++i) result[i] = permutation(i);
  return result;
}

static StreamName key(std::uint32_t epoch) { return {1, 0, Purpose::permutation, 0, epoch}; }

TEST_CASE("permutation: every number once, for any n") {
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 10u, 16u, 17u, 64u, 65u, 1000u, 60000u, 65537u}) {
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      auto numbers = order(key(epoch), n);
      std::ranges::sort(numbers);
      std::vector<std::uint32_t> all(n);
      std::iota(all.begin(), all.end(), 0u);
      CHECK(numbers == all);
    }
  }
}

TEST_CASE("permutation: numbers near 2^32 stay in range and come back once") {
  const std::uint32_t n = 0xffffffffu;
  const Permutation permutation(key(0), n);
  std::vector<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < 1000; ++i) seen.push_back(permutation(n - 1 - i));
  std::ranges::sort(seen);
  CHECK(std::ranges::adjacent_find(seen) == seen.end());
  CHECK(seen.back() < n);
  // Uniform on [0, 2^32): the mean of 1000 lies within 4 sd = 4 / sqrt(12000) of 1/2.
  double mean = 0;
  for (const std::uint32_t x : seen) mean += x / 4294967296.0 / 1000;
  CHECK(std::abs(mean - 0.5) <= 0.0365);
}

TEST_CASE("permutation: each part of the name matters") {
  const auto base = order({1, 0, Purpose::permutation, 0, 0}, 1000);
  CHECK(base == order({1, 0, Purpose::permutation, 0, 0}, 1000));
  CHECK(base != order({2, 0, Purpose::permutation, 0, 0}, 1000));
  CHECK(base != order({1, 1, Purpose::permutation, 0, 0}, 1000));
  CHECK(base != order({1, 0, Purpose::train_rows, 0, 0}, 1000));
  CHECK(base != order({1, 0, Purpose::permutation, 1, 0}, 1000));
  CHECK(base != order({1, 0, Purpose::permutation, 0, 1}, 1000));
}

TEST_CASE("permutation: all orders of few numbers are equally frequent") {
  // 48,000 keys; chi-square with n! - 1 degrees of freedom, bound at about mean + 4 sd.
  for (const auto& [n, orders] : std::map<std::uint32_t, int>{{2, 2}, {3, 6}, {4, 24}, {5, 120}}) {
    std::map<std::vector<std::uint32_t>, int> counts;
    const int keys = 48000;
    for (int e = 0; e < keys; ++e) ++counts[order(key(static_cast<std::uint32_t>(e)), n)];
    CHECK(counts.size() == static_cast<std::size_t>(orders));
    const double expected = static_cast<double>(keys) / orders;
    double chi2 = 0;
    for (const auto& [numbers, count] : counts)
      chi2 += (count - expected) * (count - expected) / expected;
    const double freedom = orders - 1;
    CAPTURE(n);
    CHECK(chi2 <= freedom + 4 * std::sqrt(2 * freedom) + 4);
  }
}

TEST_CASE("permutation: one fixed point on average, and place says nothing of number") {
  // Fixed points of a random permutation: mean 1, variance 1.  Correlation of place and number:
  // mean 0, variance 1 / (n - 1).  Both over 4,000 keys, bound 4 sd.
  const int keys = 4000;
  for (const std::uint32_t n : {10u, 100u, 1000u}) {
    double fixed = 0, correlation = 0;
    for (int e = 0; e < keys; ++e) {
      const auto numbers = order(key(static_cast<std::uint32_t>(e)), n);
      double covariance = 0;
      const double middle = (n - 1) / 2.0;
      for (std::uint32_t i = 0; i < n; ++i) {
        fixed += numbers[i] == i;
        covariance += (i - middle) * (numbers[i] - middle);
      }
      correlation += covariance / (n * (double(n) * n - 1) / 12);
    }
    CAPTURE(n);
    CHECK(std::abs(fixed / keys - 1) <= 4 / std::sqrt(keys));
    CHECK(std::abs(correlation / keys) <= 4 / std::sqrt(keys * (n - 1.0)));
  }
}

TEST_CASE("permutation: every pair of place and number is equally frequent") {
  // n = 17 in a domain of 64; 16^2 degrees of freedom, 17,000 keys, bound mean + 4 sd.
  const std::uint32_t n = 17;
  const int keys = 17000;
  std::vector<double> counts(n * n);
  for (int e = 0; e < keys; ++e) {
    const auto numbers = order(key(static_cast<std::uint32_t>(e)), n);
    for (std::uint32_t i = 0; i < n; ++i) ++counts[i * n + numbers[i]];
  }
  const double expected = keys / double(n);
  double chi2 = 0;
  for (const double count : counts) chi2 += (count - expected) * (count - expected) / expected;
  // A table with fixed margins: the sum is n / (n - 1) times a chi-square of (n - 1)^2.
  chi2 *= (n - 1.0) / n;
  const double freedom = (n - 1.0) * (n - 1.0);
  CHECK(chi2 <= freedom + 4 * std::sqrt(2 * freedom));
}

}  // namespace gradrace::permutation_test
