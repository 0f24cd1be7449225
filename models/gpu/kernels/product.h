#pragma once

#include <type_traits>
#include <utility>

#include "models/gpu/kernels/matrix_tile.h"
#include "models/gpu/kernels/rows.h"
#include "models/gpu/kernels/tiles.h"

/// Products of matrices, many of one shape at once.
namespace gradrace::kernels {

/// A factor of a product: some vectors of `depth` numbers each, in an array.  Where they lie along
/// k, the numbers of a vector stand beside each other; else those of each k do.
template <class Number, bool along>
struct Numbers {
  using Real = Number;
  static constexpr bool along_k = along, bytes = false;

  const Real* numbers;
  std::uint32_t stride;  // from one vector to the next, or from one k

  GRADRACE_HD const Real* at(std::uint32_t row, std::uint32_t column) const {
    return numbers + std::uint64_t{row} * stride + column;
  }
};

/// The same of a data set: each of those rows is a vector, or has the numbers of a k.
template <class Number, bool along>
struct DataRows {
  using Real = Number;
  static constexpr bool along_k = along, bytes = true;

  Split split;
  const std::uint32_t* rows;  // their numbers

  GRADRACE_HD const float* at(std::uint32_t row, std::uint32_t column) const {
    return split.floats + place(row, column);
  }
  /// Where they are bytes, four of them.
  GRADRACE_HD bool has_bytes() const { return split.bytes != nullptr; }
  GRADRACE_HD std::uint32_t word(std::uint32_t row, std::uint32_t column) const {
    return *reinterpret_cast<const std::uint32_t*>(split.bytes + place(row, column));
  }
  GRADRACE_HD Four<Real> four(std::uint32_t word) const {
    const auto scale = static_cast<Real>(split.byte_scale);
    return {scaled(word & 255, scale), scaled(word >> 8 & 255, scale),
            scaled(word >> 16 & 255, scale), scaled(word >> 24, scale)};
  }

 private:
  GRADRACE_HD std::uint64_t place(std::uint32_t row, std::uint32_t column) const {
    return std::uint64_t{rows[row]} * split.stride + column;
  }
};

/// Whether four numbers there can be moved at once.
template <class Real>
GRADRACE_HD bool aligned(const Real* at) {
  return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
}

/// The first `count` <= 4 numbers there.
template <class Real>
GRADRACE_HD Four<Real> read_numbers(const Real* from, std::uint32_t count) {
  if (count == 4 && aligned(from)) return *reinterpret_cast<const Four<Real>*>(from);
  Four<Real> four = {};
  GRADRACE_UNROLL
  for (std::uint32_t q = 0; q < 4; ++q)
    if (q < count) four.at[q] = from[q];
  return four;
}

template <class Real>
GRADRACE_HD void write_numbers(const Four<Real>& four, std::uint32_t count, Real* to) {
  if (count == 4 && aligned(to)) {
    *reinterpret_cast<Four<Real>*>(to) = four;
    return;
  }
  GRADRACE_UNROLL
  for (std::uint32_t q = 0; q < 4; ++q)
    if (q < count) to[q] = four.at[q];
}

/// What a block makes of a product: high x wide numbers, down x across of them by each thread.
template <std::uint32_t high_, std::uint32_t wide_, std::uint32_t down_, std::uint32_t across_>
struct ProductTile {
  static constexpr std::uint32_t high = high_, wide = wide_, down = down_, across = across_;
  static constexpr std::uint32_t threads = high / down * (wide / across);
};

/// Some vectors of a factor in a block's scratch memory, slice by slice, each of some k.  For the
/// sums that they are multiplied for, a thread has a share of `each` of them.
template <class Factor, std::uint32_t vectors, std::uint32_t each>
struct SliceShape {
  using Real = typename Factor::Real;

  static constexpr bool along_k = Factor::along_k;
  static constexpr std::uint32_t slice = 128 / sizeof(Real), shares = vectors / each;
  static constexpr std::uint32_t high = Factor::along_k ? vectors : slice;
  static constexpr std::uint32_t wide = Factor::along_k ? slice : vectors;
  static constexpr std::uint32_t pitch = wide + 4;  // fewer threads read from one bank
  static constexpr std::uint32_t numbers = high * pitch, fours = high * wide / 4;

  /// Where number k of vector i stands in a slice.
  GRADRACE_HD static std::uint32_t place(std::uint32_t i, std::uint32_t k) {
    return along_k ? i * pitch + k : k * pitch + i;
  }

  /// Which vector is the r-th of a share.
  GRADRACE_HD static std::uint32_t vector(std::uint32_t share, std::uint32_t r) {
    return Factor::along_k ? share + r * shares : r / 4 * (4 * shares) + 4 * share + r % 4;
  }

  /// Four k of a share, the k-th of the slice and on.
  GRADRACE_HD static void read(const Real* from, std::uint32_t k, std::uint32_t share,
                               Real (&to)[4][each]) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < each; ++i) {
      if constexpr (Factor::along_k) {
        const Four<Real> four = Fours<Real>{from, pitch}(vector(share, i), k);
        GRADRACE_UNROLL
        for (std::uint32_t l = 0; l < 4; ++l) to[l][i] = four.at[l];
      } else {  // four of a k at once
        static_assert(each % 4 == 0);
        const Four<Real> four = Fours<Real>{from, pitch}(k + i % 4, vector(share, i / 4 * 4));
        GRADRACE_UNROLL
        for (std::uint32_t q = 0; q < 4; ++q) to[i % 4][i / 4 * 4 + q] = four.at[q];
      }
    }
  }
};

/// Brings slices of a factor's vectors there, from the first-th on; zeros stand beyond its edges.
template <class Block, class Factor, class Shape, std::uint32_t threads>
class FactorSlices {
 public:
  using Real = typename Factor::Real;

  GRADRACE_HD FactorSlices(const Block& block, const Factor& factor, std::uint32_t first,
                           std::uint32_t count, std::uint32_t depth)
      : block_(block), factor_(factor), first_(first), count_(count), depth_(depth) {}

  /// The slice that begins at k is begun; it is there after end(), wait_for_copies() and sync().
  GRADRACE_HD void begin(std::uint32_t k, Real* to) {
    each_four(k, [&](std::uint32_t s, std::uint32_t row, std::uint32_t column, std::uint32_t left,
                     std::uint32_t at) {
      if constexpr (Factor::bytes) {
        if (factor_.has_bytes()) {
          words_[s] = left > 0 ? factor_.word(row, column) : 0;
          return;
        }
      }
      copy_four(left > 0 ? factor_.at(row, column) : nullptr, left, to + at);
    });
  }
  GRADRACE_HD void end(std::uint32_t k, Real* to) const {
    if constexpr (Factor::bytes) {
      if (!factor_.has_bytes()) return;
      each_four(
          k, [&](std::uint32_t s, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t at) {
            *reinterpret_cast<Four<Real>*>(to + at) = factor_.four(words_[s]);
          });
    }
  }

 private:
  static constexpr std::uint32_t steps =
      Block::has_all_threads ? (Shape::fours + threads - 1) / threads : Shape::fours;

  /// f(step, row and column in the factor's memory, numbers there before its edge, place here).
  template <class Function>
  GRADRACE_HD void each_four(std::uint32_t k, const Function& f) const {
    constexpr std::uint32_t per_row = Shape::wide / 4;
    const std::uint32_t rows = Factor::along_k ? count_ : depth_;
    const std::uint32_t columns = Factor::along_k ? depth_ : count_;
    GRADRACE_UNROLL
    for (std::uint32_t s = 0; s < steps; ++s) {
      const std::uint32_t four = block_.thread() + s * block_.threads();
      if (four >= Shape::fours) return;
      const std::uint32_t i = four / per_row, j = four % per_row * 4;
      const std::uint32_t row = (Factor::along_k ? first_ : k) + i;
      const std::uint32_t column = (Factor::along_k ? k : first_) + j;
      f(s, row, column, row < rows && column < columns ? columns - column : 0,
        i * Shape::pitch + j);
    }
  }

  /// `left` numbers are there.
  template <class From>
  GRADRACE_HD void copy_four(const From* from, std::uint32_t left, Real* to) const {
    if constexpr (std::is_same_v<From, Real>) {
      if (left >= 4 && aligned(from))
        return block_.copy(reinterpret_cast<Four<Real>*>(to),
                           reinterpret_cast<const Four<Real>*>(from));
    }
    GRADRACE_UNROLL
    for (std::uint32_t q = 0; q < 4; ++q) {
      if (q >= left)
        to[q] = 0;
      else if constexpr (std::is_same_v<From, Real>)
        block_.copy(to + q, from + q);
      else
        to[q] = static_cast<Real>(from[q]);
    }
  }

  const Block& block_;
  const Factor factor_;
  const std::uint32_t first_, count_, depth_;
  std::uint32_t words_[Factor::bytes ? steps : 1];
};

struct ProductShape {
  std::uint32_t rows, columns, depth;
};

/// Where a block's tile begins in C.
struct TileCorner {
  std::uint32_t top, left;
};

/// The sums of a tile that a thread makes: each of fused multiplications and additions in the order
/// of k.  For four k a thread reads down + across fours from shared memory, and multiplies
/// 4 down across times.
template <class Block, class A, class B, class Tile>
class FusedSums {
 public:
  using Real = typename A::Real;

  GRADRACE_HD FusedSums(const Block& block, const TileCorner& corner, const ProductShape& shape)
      : block_(block), corner_(corner), shape_(shape) {}

  /// Of `deep` k more.
  GRADRACE_HD void add(const Real* of_a, const Real* of_b, std::uint32_t deep) {
    each_share([&](std::uint32_t s, std::uint32_t i, std::uint32_t j) {
      const std::uint32_t down = there<A, Tile::down>(corner_.top, i, shape_.rows);
      const std::uint32_t across = there<B, Tile::across>(corner_.left, j, shape_.columns);
      GRADRACE_UNROLL_BY_2
      for (std::uint32_t k = 0; k < deep; k += 4) {
        Real x[4][Tile::down], y[4][Tile::across];
        A::read(of_a, k, i, x), B::read(of_b, k, j, y);
        GRADRACE_UNROLL
        for (std::uint32_t l = 0; l < 4; ++l) {
          GRADRACE_UNROLL
          for (std::uint32_t r = 0; r < down; ++r) {
            GRADRACE_UNROLL
            for (std::uint32_t c = 0; c < across; ++c)
              sums_[s][r][c] = fused(x[l][r], y[l][c], sums_[s][r][c]);
          }
        }
      }
    });
  }

  template <class Result>
  GRADRACE_HD void give(const Result& result) const {
    each_share([&](std::uint32_t s, std::uint32_t i, std::uint32_t j) {
      Four<Real> was[Tile::down][Tile::across / together] = {};
      each_place(
          i, j,
          [&](std::uint32_t r, std::uint32_t c, std::uint32_t row, std::uint32_t column,
              std::uint32_t count) { was[r][c / together] = result.before(row, column, count); });
      each_place(i, j,
                 [&](std::uint32_t r, std::uint32_t c, std::uint32_t row, std::uint32_t column,
                     std::uint32_t count) {
                   Four<Real> some = {};
                   GRADRACE_UNROLL
                   for (std::uint32_t q = 0; q < together; ++q) some.at[q] = sums_[s][r][c + q];
                   result(row, column, some, was[r][c / together], count);
                 });
    });
  }

 private:
  static constexpr std::uint32_t together = B::along_k ? 1 : 4;
  // Of a thread: one, where all threads are there.
  static constexpr std::uint32_t most = Block::has_all_threads ? 1 : Tile::threads;

  /// f(step, place in a column of shares, in a row of them) for every share of this thread.
  template <class Function>
  GRADRACE_HD void each_share(const Function& f) const {
    for (std::uint32_t s = 0; s < most; ++s) {
      const std::uint32_t share = block_.thread() + s * block_.threads();
      if (share < Tile::threads) f(s, share / B::shares, share % B::shares);
    }
  }

  /// How many of a share are there; all, where none is left out.
  template <class Shape, std::uint32_t each>
  GRADRACE_HD static std::uint32_t there(std::uint32_t first, std::uint32_t share,
                                         std::uint32_t count) {
    if (Block::has_all_threads) return each;
    std::uint32_t result = 0;
    while (result < each && first + Shape::vector(share, result) < count) ++result;
    return result;
  }

  /// f(r, c, row, column, count) for every place of a share in C where numbers stand together.
  template <class Function>
  GRADRACE_HD void each_place(std::uint32_t i, std::uint32_t j, const Function& f) const {
    GRADRACE_UNROLL
    for (std::uint32_t r = 0; r < Tile::down; ++r) {
      const std::uint32_t row = corner_.top + A::vector(i, r);
      if (row >= shape_.rows) continue;
      GRADRACE_UNROLL
      for (std::uint32_t c = 0; c < Tile::across; c += together) {
        const std::uint32_t column = corner_.left + B::vector(j, c);
        if (column >= shape_.columns) continue;
        const std::uint32_t left = shape_.columns - column;
        f(r, c, row, column, left > together || together == 1 ? together : left);
      }
    }
  }

  const Block& block_;
  const TileCorner corner_;
  const ProductShape shape_;
  Real sums_[most][Tile::down][Tile::across] = {};
};

/// Likewise of three products of TF32 (see matrix_tile.h), by crews, each of which makes some
/// tiles of 16 x 8; float32 alone.
template <class Block, class A, class B, class Tile>
class Tf32Sums {
 public:
  GRADRACE_HD Tf32Sums(const Block& block, const TileCorner& corner, const ProductShape& shape)
      : block_(block), corner_(corner), shape_(shape) {}

  GRADRACE_HD void add(const float* of_a, const float* of_b, std::uint32_t deep) {
    const std::uint32_t lane = crew_lane(block_);
    each_share([&](std::uint32_t s, std::uint32_t top, std::uint32_t left) {
      for (std::uint32_t k = 0; k < deep; k += 8) {
        LeftFactor<crew, 2> x[down];
        GRADRACE_UNROLL
        for (std::uint32_t r = 0; r < down; ++r)
          if (has_row(top + 16 * r))
            x[r].load(lane, [&](std::uint32_t i, std::uint32_t l) {
              return of_a[A::place(top + 16 * r + i, k + l)];
            });
        GRADRACE_UNROLL
        for (std::uint32_t c = 0; c < across; ++c) {
          if (!has_column(left + 8 * c)) continue;
          RightFactor<crew, 2> y;
          y.load(lane, [&](std::uint32_t l, std::uint32_t j) {
            return of_b[B::place(left + 8 * c + j, k + l)];
          });
          GRADRACE_UNROLL
          for (std::uint32_t r = 0; r < down; ++r)
            if (has_row(top + 16 * r)) multiply_add(sums_[s][r][c], x[r], y);
        }
      }
    });
  }

  template <class Result>
  GRADRACE_HD void give(const Result& result) const {
    each_share([&](std::uint32_t s, std::uint32_t top, std::uint32_t left) {
      GRADRACE_UNROLL
      for (std::uint32_t r = 0; r < down; ++r) {
        GRADRACE_UNROLL
        for (std::uint32_t c = 0; c < across; ++c)
          give_tile(result, corner_.top + top + 16 * r, corner_.left + left + 8 * c,
                    sums_[s][r][c]);
      }
    });
  }

 private:
  static constexpr std::uint32_t crew = crew_threads<Block>, crews = Tile::threads / 32;
  static constexpr std::uint32_t most = Block::has_all_threads ? 1 : crews;
  // Of a crew's share, and the tiles of 16 x 8 in it.
  static constexpr std::uint32_t wide = Tile::wide < 32 ? Tile::wide : 32;
  static constexpr std::uint32_t high = Tile::high * Tile::wide / crews / wide;
  static constexpr std::uint32_t down = high / 16, across = wide / 8;

  /// f(step, top, left) for every share of this crew.
  template <class Function>
  GRADRACE_HD void each_share(const Function& f) const {
    std::uint32_t s = 0;
    each_crew(block_, crews, [&](std::uint32_t share) {
      f(most > 1 ? s++ : 0, share / (Tile::wide / wide) * high, share % (Tile::wide / wide) * wide);
    });
  }
  GRADRACE_HD bool has_row(std::uint32_t i) const { return corner_.top + i < shape_.rows; }
  GRADRACE_HD bool has_column(std::uint32_t j) const { return corner_.left + j < shape_.columns; }

  template <class Result>
  GRADRACE_HD void give_tile(const Result& result, std::uint32_t top, std::uint32_t left,
                             const MatrixTile<crew>& tile) const {
    constexpr std::uint32_t together = crew == 1 ? 4 : 2;  // in a row
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < tile.held; i += together) {
      const MatrixPlace at = tile.place(crew_lane(block_), i);
      const std::uint32_t row = top + at.row, column = left + at.column;
      if (row >= shape_.rows || column >= shape_.columns) continue;
      const std::uint32_t there = shape_.columns - column;
      const std::uint32_t count = there < together ? there : together;
      Four<float> some = {};
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < together; ++q) some.at[q] = tile.number[i + q];
      result(row, column, some, result.before(row, column, count), count);
    }
  }

  const Block& block_;
  const TileCorner corner_;
  const ProductShape shape_;
  MatrixTile<crew> sums_[most][down][across];
};

/// Products C [rows, columns], C(i, j) = the sum of a(i, k) b(j, k) over k < depth, one of each job
/// of many.  A Product has
///
///     Real
///     shape()
///     a(job), b(job)   its factors, Numbers or DataRows
///     result(job)      takes C(i, j), C(i, j + 1), ..., `count` <= 4 of them at once: first
///                      before(i, j, count) is called, for some or for all that a thread makes,
///                      then (i, j, sums, what before() said, count); where it has beside(i, sum),
///                      that gets the sum of a(i, k), and a does not lie along k
///
/// The bits of C depend neither on the batch nor on its place there, and with FusedSums not on the
/// tile.  A slice of the factors is on its way while the one before is multiplied.
///
/// For each k a block reads high + wide numbers of the factors from memory.
template <class Product, class Tile, template <class...> class Sums = FusedSums>
struct ProductKernel {
  using Real = typename Product::Real;

  Product product;

  static constexpr std::uint32_t threads = Tile::threads;
  static constexpr std::uint32_t at_once = (sizeof(Real) == 4 ? 512 : 256) / threads;
  std::size_t shared_numbers() const {
    return (product.shape().depth > A::slice ? 2 : 1) * slice_numbers;
  }
  /// Of one product.
  GRADRACE_HD std::uint32_t blocks() const {
    return (product.shape().rows + Tile::high - 1) / Tile::high * across();
  }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t job = number / blocks(), place = number % blocks();
    const TileCorner corner{place / across() * Tile::high, place % across() * Tile::wide};
    const ProductShape shape = product.shape();
    FactorSlices<Block, FactorA, A, threads> a(block, product.a(job), corner.top, shape.rows,
                                               shape.depth);
    FactorSlices<Block, FactorB, B, threads> b(block, product.b(job), corner.left, shape.columns,
                                               shape.depth);
    const auto begin = [&](std::uint32_t k, Real* to) {
      a.begin(k, to), b.begin(k, to + A::numbers);
    };
    const auto end = [&](std::uint32_t k, Real* to) { a.end(k, to), b.end(k, to + A::numbers); };

    Sums<Block, A, B, Tile> sums(block, corner, shape);
    Real beside[Block::has_all_threads ? 1 : Tile::high] = {};
    Real *now = block.template scratch<Real>(), *next = now + slice_numbers;
    begin(0, now), end(0, now);
    for (std::uint32_t k = 0; k < shape.depth; k += A::slice) {
      const bool more = shape.depth - k > A::slice;
      const std::uint32_t deep = more ? A::slice : shape.depth - k;
      block.wait_for_copies();
      block.sync();
      if (more) begin(k + A::slice, next);
      sums.add(now, now + A::numbers, deep);
      if constexpr (has_beside)
        each_beside(block, corner, [&](std::uint32_t s, std::uint32_t i) {
          for (std::uint32_t l = 0; l < deep; ++l) beside[s] += now[A::place(i, l)];
        });
      if (more) end(k + A::slice, next);
      Real* const was = now;
      now = next, next = was;
    }
    const auto result = product.result(job);
    sums.give(result);
    if constexpr (has_beside)
      each_beside(block, corner, [&](std::uint32_t s, std::uint32_t i) {
        result.beside(corner.top + i, beside[s]);
      });
  }

 private:
  using FactorA = decltype(std::declval<Product>().a(0));
  using FactorB = decltype(std::declval<Product>().b(0));
  using A = SliceShape<FactorA, Tile::high, Tile::down>;
  using B = SliceShape<FactorB, Tile::wide, Tile::across>;
  static constexpr std::uint32_t slice_numbers = A::numbers + B::numbers;
  static constexpr bool has_beside = requires(Product made) { made.result(0).beside(0u, Real{}); };

  GRADRACE_HD std::uint32_t across() const {
    return (product.shape().columns + Tile::wide - 1) / Tile::wide;
  }

  /// f(step, i) for every row of the tile of which this thread makes the sum beside.
  template <class Block, class Function>
  GRADRACE_HD void each_beside(const Block& block, const TileCorner& corner,
                               const Function& f) const {
    static_assert(!A::along_k && Tile::high <= threads);
    constexpr std::uint32_t most = Block::has_all_threads ? 1 : Tile::high;
    if (corner.left > 0) return;
    for (std::uint32_t s = 0; s < most; ++s) {
      const std::uint32_t i = block.thread() + s * block.threads();
      if (i < Tile::high && corner.top + i < product.shape().rows) f(s, i);
    }
  }
};

}  // namespace gradrace::kernels
