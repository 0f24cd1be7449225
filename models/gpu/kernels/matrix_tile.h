#pragma once

#include <bit>
#include <cstdint>

#include "models/gpu/kernels/tiles.h"

/// Products of float32 matrices in tiles that a crew of threads makes together: on a GPU a warp, by
/// its matrix units; elsewhere one thread, by a loop over the same parts in the same order.
///
/// A unit multiplies numbers of TF32, which have 11 significant bits.  A float a is the sum of the
/// parts hi, a rounded to TF32, and lo, a - hi without its bits beyond the 11th:
///
///     |a - hi - lo| <= 2^-23 |a|,  |lo| <= 2^-11 |a|.
///
/// Whole numbers up to 2^11 in size are their hi.  Of the products of parts lo x lo is left out, so
/// that a product of two such sums is off by at most 2^-21 |a b|, by 2^-23 |a b| where one of them
/// is one part.  Sums are float32, and a unit may cut what it adds to them where a loop rounds it:
/// a sum of n steps of eight terms can be off by n 2^-23 of it.  What is not finite, or rounds to
/// infinity as TF32, gives sums that are not finite.
namespace gradrace::kernels {

/// Threads of a crew.
template <class Block>
constexpr std::uint32_t crew_threads = Block::has_all_threads ? 32 : 1;

/// The thread's place in its crew.
template <class Block>
GRADRACE_HD std::uint32_t crew_lane(const Block& block) {
  return block.thread() % crew_threads<Block>;
}

/// f(i) for each i < n, crew by crew; does not sync.
template <class Block, class Function>
GRADRACE_HD void each_crew(const Block& block, std::uint32_t n, const Function& f) {
  const std::uint32_t crews = block.threads() / crew_threads<Block>;
  for (std::uint32_t i = block.thread() / crew_threads<Block>; i < n; i += crews) f(i);
}

/// hi of a.
GRADRACE_HD inline float nearest_tf32(float a) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) + 0x1000u) & 0xffffe000u);
}
/// What a unit sees of a.
GRADRACE_HD inline float seen_as_tf32(float a) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0xffffe000u);
}

struct MatrixPlace {
  std::uint32_t row, column;
};

/// A tile's 16 x 8 numbers, of which each of the crew's threads holds some: a lane of a warp
/// rows lane / 4 and 8 more, columns 2 (lane % 4) and the next.
template <std::uint32_t crew>
struct MatrixTile {
  static constexpr std::uint32_t rows = 16, columns = 8, held = rows * columns / crew;
  static_assert(crew == 32 || crew == 1);

  float number[held] = {};

  /// Where the number of that index stands, with the lane's.
  GRADRACE_HD static constexpr MatrixPlace place(std::uint32_t lane, std::uint32_t index) {
    if constexpr (crew == 1)
      return {index / columns, index % columns};
    else
      return {lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2};
  }

  /// What is made of the numbers from here on is made here: a compiler that makes it before a loop
  /// needs more registers than a GPU's thread has.
  GRADRACE_HD void make_anew() {
#ifdef __CUDA_ARCH__
    GRADRACE_UNROLL
    for (float& each : number) asm volatile("" : "+f"(each));
#endif
  }

  /// f(row, column, number) for each that the lane holds.
  template <class Function>
  GRADRACE_HD void each(std::uint32_t lane, const Function& f) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < held; ++i) {
      const MatrixPlace at = place(lane, i);
      f(at.row, at.column, number[i]);
    }
  }
};

/// Parts of numbers that a thread holds.
template <std::uint32_t parts, std::uint32_t held>
struct MatrixParts {
  static_assert(parts == 1 || parts == 2);

  float part[parts][held];

  GRADRACE_HD void set(std::uint32_t index, float a) {
    if constexpr (parts == 1) {
      part[0][index] = a;
    } else {
      part[0][index] = nearest_tf32(a);
      part[1][index] = a - part[0][index];
    }
  }
};

/// A left factor, 16 x 8 numbers: a lane of a warp holds what it holds of a tile.
template <std::uint32_t crew, std::uint32_t parts>
struct LeftFactor : MatrixParts<parts, MatrixTile<crew>::held> {
  using Tile = MatrixTile<crew>;

  LeftFactor() = default;

  /// a(row, k).
  template <class A>
  GRADRACE_HD void load(std::uint32_t lane, const A& a) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < Tile::held; ++i) {
      const MatrixPlace at = Tile::place(lane, i);
      this->set(i, a(at.row, at.column));
    }
  }
  /// That tile; its columns are the product's k.
  GRADRACE_HD void load(const Tile& tile) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < Tile::held; ++i) this->set(i, tile.number[i]);
  }
};

/// A right factor, 8 x 8 numbers: a lane of a warp holds rows 2 (lane % 4) and the next of column
/// lane / 4.
template <std::uint32_t crew, std::uint32_t parts>
struct RightFactor : MatrixParts<parts, 64 / crew> {
  static constexpr std::uint32_t held = 64 / crew;

  GRADRACE_HD static constexpr MatrixPlace place(std::uint32_t lane, std::uint32_t index) {
    if constexpr (crew == 1)
      return {index / 8, index % 8};
    else
      return {lane % 4 * 2 + index, lane / 4};
  }

  /// b(k, column).
  template <class B>
  GRADRACE_HD void load(std::uint32_t lane, const B& b) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < held; ++i) {
      const MatrixPlace at = place(lane, i);
      this->set(i, b(at.row, at.column));
    }
  }
};

/// sums += a b, of one part each.  A unit takes k in an order of its own, the same of both.
GRADRACE_HD inline void add_product(MatrixTile<32>& sums, const float (&a)[4],
                                    const float (&b)[2]) {
#ifdef __CUDA_ARCH__
  float(&c)[4] = sums.number;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[1])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  static_cast<void>(sums), static_cast<void>(a), static_cast<void>(b);
#endif
}
GRADRACE_HD inline void add_product(MatrixTile<1>& sums, const float (&a)[128],
                                    const float (&b)[64]) {
  float right[64];
  for (std::uint32_t i = 0; i < 64; ++i) right[i] = seen_as_tf32(b[i]);
  for (std::uint32_t i = 0; i < 128; i += 8) {
    float of_row[8];
    for (std::uint32_t j = 0; j < 8; ++j) of_row[j] = sums.number[i + j];
    for (std::uint32_t k = 0; k < 8; ++k) {
      const float left = seen_as_tf32(a[i + k]);
      for (std::uint32_t j = 0; j < 8; ++j) of_row[j] += left * right[8 * k + j];
    }
    for (std::uint32_t j = 0; j < 8; ++j) sums.number[i + j] = of_row[j];
  }
}

/// sums[i] += a b[i] for each i; the smaller products first: lo b, a lo, hi hi.  Products of one
/// kind follow each other: a unit is slow to add to what it has just made.
template <std::uint32_t crew, std::uint32_t of_a, std::uint32_t of_b, std::uint32_t n>
GRADRACE_HD void multiply_add(MatrixTile<crew> (&sums)[n], const LeftFactor<crew, of_a>& a,
                              const RightFactor<crew, of_b> (&b)[n]) {
  if constexpr (of_a > 1) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < n; ++i) add_product(sums[i], a.part[1], b[i].part[0]);
  }
  if constexpr (of_b > 1) {
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < n; ++i) add_product(sums[i], a.part[0], b[i].part[1]);
  }
  GRADRACE_UNROLL
  for (std::uint32_t i = 0; i < n; ++i) add_product(sums[i], a.part[0], b[i].part[0]);
}

/// sums += a b, likewise.
template <std::uint32_t crew, std::uint32_t of_a, std::uint32_t of_b>
GRADRACE_HD void multiply_add(MatrixTile<crew>& sums, const LeftFactor<crew, of_a>& a,
                              const RightFactor<crew, of_b>& b) {
  if constexpr (of_a > 1) add_product(sums, a.part[1], b.part[0]);
  if constexpr (of_b > 1) add_product(sums, a.part[0], b.part[1]);
  add_product(sums, a.part[0], b.part[0]);
}

}  // namespace gradrace::kernels
