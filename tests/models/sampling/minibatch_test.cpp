#include "models/sampling/minibatch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/datasets/permutation.h"
#include "sim/random.h"

namespace gradrace::minibatch_test {

static std::vector<std::uint32_t> rows(Sampling sampling, const MinibatchName& name,
                                       std::uint32_t n) {
  std::vector<std::uint32_t> result(name.size);
  minibatch_rows(sampling, name, n, result);
  return result;
}

TEST_CASE("iid minibatch: row i is word i of the draw's stream, scaled to n") {
  for (const std::uint32_t m : {1u, 2u, 3u, 4u, 5u, 32u, 33u}) {
    const auto got = rows(Sampling::iid, {7, 3, 11, 5, m}, 60000);
    for (std::uint32_t i = 0; i < m; ++i) {
      const auto words = philox_block({7, 3, Purpose::minibatch, 11, 5}, i / 4);
      CHECK(got[i] == static_cast<std::uint32_t>(std::floor(words[i % 4] / 4294967296.0 * 60000)));
    }
  }
}

TEST_CASE("iid minibatch: rows are uniform") {
  // 100,000 rows of 10; chi-square with 9 degrees of freedom, bound at p = 1e-4: 33.7.
  std::vector<double> counts(10);
  for (std::uint32_t draw = 0; draw < 1000; ++draw)
    for (const std::uint32_t row : rows(Sampling::iid, {1, 0, 0, draw, 100}, 10)) ++counts.at(row);
  double chi2 = 0;
  for (const double count : counts) chi2 += (count - 1e4) * (count - 1e4) / 1e4;
  CHECK(chi2 <= 33.7);
}

TEST_CASE("iid minibatch: a learner's draws and learners differ") {
  const auto base = rows(Sampling::iid, {1, 0, 0, 0, 32}, 60000);
  CHECK(base != rows(Sampling::iid, {1, 0, 0, 1, 32}, 60000));
  CHECK(base != rows(Sampling::iid, {1, 0, 1, 0, 32}, 60000));
  CHECK(base != rows(Sampling::iid, {1, 1, 0, 0, 32}, 60000));
  CHECK(base != rows(Sampling::iid, {2, 0, 0, 0, 32}, 60000));
}

TEST_CASE("epoch minibatch: each row exactly once per epoch, whatever m") {
  const std::uint32_t n = 1000, epochs = 3;
  for (const std::uint32_t m : {1u, 7u, 32u, 1000u, 2500u}) {
    std::vector<std::uint32_t> walk;
    for (std::uint32_t draw = 0; walk.size() < epochs * n; ++draw) {
      const auto part = rows(Sampling::epoch, {5, 2, 9, draw, m}, n);
      walk.insert(walk.end(), part.begin(), part.end());
    }
    for (std::uint32_t e = 0; e < epochs; ++e) {
      const Permutation order({5, 2, Purpose::permutation, 9, e}, n);
      std::vector<bool> seen(n);
      for (std::uint32_t i = 0; i < n; ++i) {
        REQUIRE(walk[e * n + i] == order(i));
        seen[walk[e * n + i]] = true;
      }
      CHECK(std::ranges::count(seen, true) == n);
    }
  }
}

TEST_CASE("epoch minibatch: one row is its own epoch") {
  CHECK(rows(Sampling::epoch, {1, 0, 0, 3, 5}, 1) == std::vector<std::uint32_t>(5, 0));
}

TEST_CASE("epoch minibatch: a late draw is found without the ones before it") {
  // Position 4e9 * 3 = 1.2e10 needs 64 bits.
  const auto got = rows(Sampling::epoch, {1, 0, 0, 4000000000u, 3}, 7);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t p = 12000000000u + i;
    const Permutation order({1, 0, Purpose::permutation, 0, static_cast<std::uint32_t>(p / 7)}, 7);
    CHECK(got[i] == order(static_cast<std::uint32_t>(p % 7)));
  }
}

}  // namespace gradrace::minibatch_test
