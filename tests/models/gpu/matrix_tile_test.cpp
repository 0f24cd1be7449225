#include "models/gpu/kernels/matrix_tile.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/emulated_blocks.h"

namespace gradrace::matrix_tile_test {

namespace {

using kernels::LeftFactor;
using kernels::MatrixPlace;
using kernels::MatrixTile;
using kernels::RightFactor;

constexpr double bit(int exponent) { return std::ldexp(1.0, exponent); }

/// A [rows, depth] and B [depth, columns].
struct Factors {
  std::uint32_t rows, columns, depth;
  std::vector<float> a, b;

  Factors(std::uint32_t rows_, std::uint32_t columns_, std::uint32_t depth_, bool whole)
      : rows(rows_), columns(columns_), depth(depth_), a(rows * depth), b(depth * columns) {
    std::mt19937 words(rows + 7 * columns + 31 * depth);
    std::normal_distribution<float> normal;
    for (float& x : a) x = normal(words);
    for (float& x : b) x = whole ? static_cast<float>(words() % 256) : normal(words);
  }
};

/// C = A B in whole tiles, a crew for each; B of so many parts.
template <std::uint32_t of_b>
struct TilesKernel {
  using Real = float;

  std::uint32_t rows, columns, depth;
  const float *a, *b;
  float* c;

  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  void operator()(const Block& block, std::uint32_t, std::uint32_t) const {
    constexpr std::uint32_t crew = kernels::crew_threads<Block>;
    const std::uint32_t lane = kernels::crew_lane(block), wide = columns / 8;
    kernels::each_crew(block, rows / 16 * wide, [&](std::uint32_t tile) {
      const std::uint32_t top = tile / wide * 16, left = tile % wide * 8;
      MatrixTile<crew> sums;
      for (std::uint32_t k = 0; k < depth; k += 8) {
        LeftFactor<crew, 2> x;
        RightFactor<crew, of_b> y;
        x.load(lane,
               [&](std::uint32_t i, std::uint32_t l) { return a[(top + i) * depth + k + l]; });
        y.load(lane,
               [&](std::uint32_t l, std::uint32_t j) { return b[(k + l) * columns + left + j]; });
        kernels::multiply_add(sums, x, y);
      }
      sums.each(lane, [&](std::uint32_t i, std::uint32_t j, float number) {
        c[(top + i) * columns + left + j] = number;
      });
    });
    block.sync();
  }
};

template <std::uint32_t of_b>
std::vector<float> product(const Factors& of, std::uint32_t threads) {
  std::vector<float> c(of.rows * of.columns);
  EmulatedBlocks(threads).launch(
      TilesKernel<of_b>{of.rows, of.columns, of.depth, of.a.data(), of.b.data(), c.data()}, 1, 1);
  return c;
}

/// Off by at most `of_parts` of the sum of sizes, and by what sums of three times `depth` float32
/// are.
void check_product(const Factors& of, const std::vector<float>& found, double of_parts) {
  double squared_error = 0, squared = 0;
  for (std::uint32_t i = 0; i < of.rows; ++i)
    for (std::uint32_t j = 0; j < of.columns; ++j) {
      double wanted = 0, size = 0;
      for (std::uint32_t k = 0; k < of.depth; ++k) {
        const double term = static_cast<double>(of.a[i * of.depth + k]) *
                            static_cast<double>(of.b[k * of.columns + j]);
        wanted += term, size += std::abs(term);
      }
      const double error = static_cast<double>(found[i * of.columns + j]) - wanted;
      REQUIRE(std::abs(error) <= (of_parts + 3 * of.depth * bit(-24)) * size);
      squared_error += error * error, squared += wanted * wanted;
    }
  // Roundings of either sign add up as their number's root.
  CHECK(std::sqrt(squared_error / squared) < bit(-22) + std::sqrt(3 * of.depth) * bit(-25));
}

}  // namespace

TEST_CASE("matrix tile: a float is two parts of TF32 up to 2^-23 of it") {
  std::mt19937 words(1);
  for (int i = 0; i < 100'000; ++i) {
    // Of exponents whose parts are normal numbers.
    const float a = std::ldexp(static_cast<float>(words()) / 4294967296.0f + 0.5f,
                               static_cast<int>(words() % 200) - 100) *
                    (words() % 2 == 0 ? 1.0f : -1.0f);
    kernels::MatrixParts<2, 1> parts;
    parts.set(0, a);
    const float hi = parts.part[0][0], lo = kernels::seen_as_tf32(parts.part[1][0]);
    REQUIRE(hi == kernels::seen_as_tf32(hi));
    const double size = std::abs(static_cast<double>(a));
    REQUIRE(std::abs(static_cast<double>(lo)) <= bit(-11) * size);
    REQUIRE(std::abs(static_cast<double>(a) - hi - lo) <= bit(-23) * size);
  }
  for (int whole = -2048; whole <= 2048; ++whole)
    REQUIRE(kernels::nearest_tf32(static_cast<float>(whole)) == static_cast<float>(whole));
}

TEST_CASE("matrix tile: products conform") {
  for (const std::uint32_t depth : {8u, 32u, 784u}) {
    CAPTURE(depth);
    const Factors bytes(32, 24, depth, true), floats(32, 24, depth, false);
    check_product(bytes, product<1>(bytes, 1), bit(-23));
    check_product(floats, product<2>(floats, 1), bit(-21));
  }
}

TEST_CASE("matrix tile: equal bits for any number of threads") {
  const Factors of(48, 40, 64, false);
  const auto one = product<2>(of, 1);
  CHECK(product<2>(of, 2) == one);
  CHECK(product<2>(of, 3) == one);
}

TEST_CASE("matrix tile: what is not finite does not become finite") {
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(~0u),
                          std::bit_cast<float>(0x7fffffffu), std::bit_cast<float>(0x7f800001u)}) {
    Factors of(16, 8, 8, false);
    of.a[3] = bad;
    for (const auto& c : {product<2>(of, 1), product<1>(of, 1)})
      for (std::uint32_t j = 0; j < 8; ++j) CHECK_FALSE(std::isfinite(c[j]));
  }
}

// Where the lanes of a warp hold the numbers of mma.sync.m16n8k8 is as the PTX manual says: of A
// rows lane / 4 and 8 more, k = lane % 4 and 4 more; of B the same k, column lane / 4.
TEST_CASE("matrix tile: a warp's lanes hold what its matrix unit takes") {
  const Factors of(16, 8, 8, true);
  float A[16][8], B[8][8];
  LeftFactor<32, 1> left[32];
  RightFactor<32, 1> right[32];
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    left[lane].load(lane, [&](std::uint32_t i, std::uint32_t k) { return of.a[i * 8 + k]; });
    right[lane].load(lane, [&](std::uint32_t k, std::uint32_t j) { return of.b[k * 8 + j]; });
    const std::uint32_t g = lane / 4, t = lane % 4;
    const float* const a = left[lane].part[0];
    const float* const b = right[lane].part[0];
    A[g][t] = a[0], A[g + 8][t] = a[2], A[g][t + 4] = a[1], A[g + 8][t + 4] = a[3];
    B[t][g] = b[0], B[t + 4][g] = b[1];
  }
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint32_t row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
      const MatrixPlace at = MatrixTile<32>::place(lane, e);
      CHECK(at.row == row);
      CHECK(at.column == column);
      double by_unit = 0, wanted = 0;
      for (std::uint32_t k = 0; k < 8; ++k) {
        by_unit += static_cast<double>(A[row][k]) * static_cast<double>(B[k][column]);
        wanted +=
            static_cast<double>(of.a[row * 8 + k]) * static_cast<double>(of.b[k * 8 + column]);
      }
      CHECK(by_unit == doctest::Approx(wanted).epsilon(1e-12));
    }
}

}  // namespace gradrace::matrix_tile_test
