#pragma once

#include "models/gpu/kernels/tiles.h"

namespace gradrace::kernels {

/// Row-major matrices of one shape, one for each product of a batch.
template <class Real>
struct Matrices {
  const Real* const* at;  // [count]
  std::uint32_t stride;   // from one row to the next
  bool transposed = false;
};

/// C_i = op(A_i) op(B_i), or C_i += that, where op(A) is [rows, depth], op(B) [depth, columns] and
/// C [rows, columns]; op transposes matrices that say so.
///
/// A block makes a tile of 64 x 64 numbers of one C.  Each of them is one sum over k = 0, 1, ... of
/// fused multiplications and additions, begun at 0 or at what C was: its bits depend neither on the
/// batch nor on its place there, and a sum may be cut into several calls.
///
/// For 16 k a block reads 2,048 numbers of A and B from memory; for one k a thread reads 8 from
/// shared memory and multiplies 16 times.
template <class Number>
struct ProductKernel {
  using Real = Number;

  std::uint32_t rows, columns, depth;
  Matrices<Real> a, b;
  Real* const* c;  // [count]
  std::uint32_t c_stride;
  bool added = false;

  static constexpr std::uint32_t threads = 256, at_once = 2;
  static std::size_t shared_numbers() { return 2 * slice * pitch; }
  GRADRACE_HD std::uint32_t wide() const { return (columns + tile - 1) / tile; }
  /// Of one product.
  GRADRACE_HD std::uint32_t blocks() const { return (rows + tile - 1) / tile * wide(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t of = number / blocks(), place = number % blocks();
    const std::uint32_t top = place / wide() * tile, left = place % wide() * tile;
    const std::uint32_t m = rows - top < tile ? rows - top : tile;
    const std::uint32_t n = columns - left < tile ? columns - left : tile;
    Real* const to = c[of] + std::uint64_t{top} * c_stride + left;
    Real* const A = block.template scratch<Real>();
    Real* const B = A + slice * pitch;

    // Of each patch of 4 x 4 that the thread makes: one, where all threads are there.
    constexpr std::uint32_t most = Block::has_all_threads ? 1 : threads;
    Real sums[most][4][4] = {};
    const auto each_patch = [&](const auto& f) {
      for (std::uint32_t s = 0; s < most; ++s) {
        const std::uint32_t patch = block.thread() + s * block.threads();
        const std::uint32_t i = patch / (tile / 4) * 4, j = patch % (tile / 4) * 4;
        if (i < m && j < n) f(sums[s], i, j);
      }
    };
    const auto each_number = [&](const auto& f) {
      each_patch([&](Patch& sum, std::uint32_t i, std::uint32_t j) {
        GRADRACE_UNROLL
        for (std::uint32_t e = 0; e < 16; ++e)
          if (i + e / 4 < m && j + e % 4 < n)
            f(sum[e / 4][e % 4], to[std::uint64_t{i + e / 4} * c_stride + j + e % 4]);
      });
    };
    if (added) each_number([](Real& sum, const Real& was) { sum = was; });
    for (std::uint32_t k = 0; k < depth; k += slice) {
      const std::uint32_t deep = depth - k < slice ? depth - k : slice;
      load(block, a.at[of], a.stride, !a.transposed, top, m, k, deep, A);
      load(block, b.at[of], b.stride, b.transposed, left, n, k, deep, B);
      block.sync();
      each_patch([&](Patch& sum, std::uint32_t i, std::uint32_t j) {
        GRADRACE_UNROLL_BY_4
        for (std::uint32_t l = 0; l < deep; ++l) {
          const Four<Real> x = Fours<Real>{A, pitch}(l, i), y = Fours<Real>{B, pitch}(l, j);
          GRADRACE_UNROLL
          for (std::uint32_t e = 0; e < 16; ++e)
            sum[e / 4][e % 4] = fused(x.at[e / 4], y.at[e % 4], sum[e / 4][e % 4]);
        }
      });
      block.sync();
    }
    each_number([](const Real& sum, Real& result) { result = sum; });
  }

 private:
  using Patch = Real[4][4];
  static constexpr std::uint32_t tile = 64, slice = 16;
  static constexpr std::uint32_t pitch = tile + 4;  // fewer threads write to one bank

  /// to [deep, pitch] = factors [first, first + count) of `deep` k from k on, zeros up to a
  /// multiple of four.  along_k: a factor is a row of the matrix; else a column.
  template <class Block>
  GRADRACE_HD static void load(const Block& block, const Real* from, std::uint32_t stride,
                               bool along_k, std::uint32_t first, std::uint32_t count,
                               std::uint32_t k, std::uint32_t deep, Real* to) {
    each(block, tile * slice, [&](std::uint32_t e) {  // neighbours read neighbours
      const std::uint32_t i = along_k ? e / slice : e % tile, l = along_k ? e % slice : e / tile;
      if (i >= in_fours(count) || l >= deep) return;
      const std::uint64_t row = along_k ? first + i : k + l, column = along_k ? k + l : first + i;
      to[l * pitch + i] = i < count ? from[row * stride + column] : Real{0};
    });
  }
};

}  // namespace gradrace::kernels
