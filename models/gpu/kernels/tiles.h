#pragma once

#include <cmath>

#include "models/gpu/kernels/block.h"
#include "models/gpu/kernels/rows.h"

/// Products of matrices whose rows are read four numbers at once, a tile of sums by each thread.
/// Rows begin at multiples of four numbers and are padded with zeros.
namespace gradrace::kernels {

#ifdef __CUDA_ARCH__
#define GRADRACE_UNROLL _Pragma("unroll")
#define GRADRACE_UNROLL_BY_2 _Pragma("unroll 2")
#define GRADRACE_UNROLL_BY_4 _Pragma("unroll 4")
#elif defined(__CUDACC__)
#define GRADRACE_UNROLL
#define GRADRACE_UNROLL_BY_2
#define GRADRACE_UNROLL_BY_4
#else
#define GRADRACE_UNROLL _Pragma("GCC unroll 16")
#define GRADRACE_UNROLL_BY_2
#define GRADRACE_UNROLL_BY_4
#endif

template <class Real>
struct alignas(16) Four {
  Real at[4];
};

/// A multiplication and an addition with one rounding, in whichever kernel it is.
GRADRACE_HD inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
GRADRACE_HD inline double fused(double a, double b, double c) { return std::fma(a, b, c); }

/// The bytes of a word x scale.
template <class Real>
GRADRACE_HD Four<Real> scaled_bytes(std::uint32_t word, Real scale) {
  return {scaled(word & 255, scale), scaled(word >> 8 & 255, scale),
          scaled(word >> 16 & 255, scale), scaled(word >> 24, scale)};
}

/// Rows of bytes.
template <class Real>
struct ByteFours {
  const std::uint8_t* bytes;
  const std::uint32_t* numbers;  // of the rows
  std::uint32_t stride;
  Real scale;

  GRADRACE_HD Four<Real> operator()(std::uint32_t i, std::uint32_t k) const {
    const std::uint64_t from = std::uint64_t{numbers[i]} * stride + k;
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(bytes + from);
    return scaled_bytes(word, scale);
  }
};

/// Rows of a data set that are floats.
template <class Real>
struct FloatFours {
  const float* floats;
  const std::uint32_t* numbers;
  std::uint32_t stride;

  GRADRACE_HD Four<Real> operator()(std::uint32_t i, std::uint32_t k) const {
    const auto& four =
        *reinterpret_cast<const Four<float>*>(floats + std::uint64_t{numbers[i]} * stride + k);
    return {four.at[0], four.at[1], four.at[2], four.at[3]};
  }
};

/// Rows of an array, one after the other.
template <class Real>
struct Fours {
  const Real* numbers;
  std::uint32_t stride;

  GRADRACE_HD Four<Real> operator()(std::uint32_t i, std::uint32_t k) const {
    return *reinterpret_cast<const Four<Real>*>(numbers + std::uint64_t{i} * stride + k);
  }
};

/// Calls f with the rows of those numbers, as what they are kept as.
template <class Real, class Function>
GRADRACE_HD void with_fours(const Split& split, const std::uint32_t* numbers, const Function& f) {
  if (split.bytes != nullptr)
    f(ByteFours<Real>{split.bytes, numbers, split.stride, static_cast<Real>(split.byte_scale)});
  else
    f(FloatFours<Real>{split.floats, numbers, split.stride});
}

/// Into how many slices the sums of so many tiles are cut, each of `depth` terms: a power of two.
GRADRACE_HD constexpr std::uint32_t tile_slices(std::uint32_t tiles, std::uint32_t sums,
                                                std::uint32_t depth) {
  std::uint32_t slices = 1;
  while (slices < 32 && tiles * slices < 128 && 32 * slices <= depth &&
         (2 * slices + 1) * sums <= scratch_numbers)
    slices *= 2;
  return slices;
}

/// store(m, n, the sum of a(m, k) b(n, k) over k < depth) for each m < rows and n < columns; a
/// thread makes down x across of them.  depth: a multiple of 4; rows <= inner_rows(columns).
///
/// For each four k a thread reads down + across fours, and multiplies 4 down across times.
template <class Real, std::uint32_t down, std::uint32_t across, class Block, class A, class B,
          class Store>
GRADRACE_HD void inner_tiles(const Block& block, std::uint32_t rows, std::uint32_t columns,
                             std::uint32_t depth, const A& a, const B& b, const Store& store) {
  const std::uint32_t wide = (columns + across - 1) / across, high = (rows + down - 1) / down;
  const std::uint32_t slices = tile_slices(wide * high, rows * columns, depth);
  Real* const parts = block.template scratch<Real>();
  each(block, wide * high * slices, [&](std::uint32_t item) {
    const std::uint32_t slice = item % slices, tile = item / slices;
    const std::uint32_t first_m = tile / wide * down, first_n = tile % wide * across;
    Real sums[down][across] = {};
    for (std::uint32_t k = 4 * slice; k < depth; k += 4 * slices) {
      Four<Real> left[down];
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < down; ++i)  // at the edge some are made twice
        left[i] = a(first_m + i < rows ? first_m + i : rows - 1, k);
      GRADRACE_UNROLL
      for (std::uint32_t j = 0; j < across; ++j) {
        const Four<Real> right = b(first_n + j < columns ? first_n + j : columns - 1, k);
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < down; ++i) {
          GRADRACE_UNROLL
          for (std::uint32_t q = 0; q < 4; ++q)
            sums[i][j] = fused(left[i].at[q], right.at[q], sums[i][j]);
        }
      }
    }
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < down; ++i) {
      GRADRACE_UNROLL
      for (std::uint32_t j = 0; j < across; ++j) {
        const std::uint32_t m = first_m + i, n = first_n + j;
        if (m < rows && n < columns) parts[(m * columns + n) * (slices + 1) + slice] = sums[i][j];
      }
    }
  });
  block.sync();
  each(block, rows * columns, [&](std::uint32_t i) {
    Real total = 0;
    for (std::uint32_t slice = 0; slice < slices; ++slice) total += parts[i * (slices + 1) + slice];
    store(i / columns, i % columns, total);
  });
  block.sync();
}

/// Most rows at once, so that their sums fit into the scratch memory.
GRADRACE_HD constexpr std::uint32_t inner_rows(std::uint32_t columns) {
  const std::uint32_t fitting = scratch_numbers / 2 / columns;
  return fitting < 64 ? fitting : 64;
}

/// sums[n][q] += the sum of a(i, first_n + n) b(i, k + q) over i < terms: across x 4 numbers of one
/// thread.  Where across is no multiple of 4, what a has beyond is read, and not used.
///
/// For each i a thread reads across / 4 + 1 fours, and multiplies 4 across times.
template <class Real, std::uint32_t across, class A, class B>
GRADRACE_HD void outer_tile(std::uint32_t terms, std::uint32_t first_n, std::uint32_t k, const A& a,
                            const B& b, Real (&sums)[across][4]) {
  GRADRACE_UNROLL_BY_4
  for (std::uint32_t i = 0; i < terms; ++i) {
    const Four<Real> right = b(i, k);
    GRADRACE_UNROLL
    for (std::uint32_t four = 0; four < across; four += 4) {
      const Four<Real> left = a(i, first_n + four);
      GRADRACE_UNROLL
      for (std::uint32_t p = 0; p < 4; ++p) {
        if (four + p >= across) continue;
        GRADRACE_UNROLL
        for (std::uint32_t q = 0; q < 4; ++q)
          sums[four + p][q] = fused(left.at[p], right.at[q], sums[four + p][q]);
      }
    }
  }
}

}  // namespace gradrace::kernels
