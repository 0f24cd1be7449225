#pragma once

#include <type_traits>

#include "models/gpu/kernels/matrix_tile.h"
#include "models/layers/base/layer.h"

namespace gradrace::kernels {

/// 16 x 32 numbers of a matrix W, padded with zeros: four tiles, the n-th of which has columns
/// n, n + 4, ...  Its numbers stand beside each other as a warp holds them: four of one row, one of
/// each tile, for each number that a lane holds of a tile.
struct Panel {
  static constexpr std::uint32_t rows = 16, columns = 32, tiles = 4, numbers = rows * columns;

  /// Column c of the tiles is fours `four(c)` of the panel's columns.
  GRADRACE_HD static constexpr std::uint32_t four(std::uint32_t c) { return c % 2 * 4 + c / 2; }

  /// Where row and column c of the first tile stand, those of the others behind it.
  GRADRACE_HD static constexpr std::uint32_t at(const MatrixPlace& of_tile) {
    return of_tile.row / 8 * 256 + of_tile.column % 2 * 128 + of_tile.row % 8 * 16 +
           of_tile.column / 2 * 4;
  }
  /// Those of a crew's lane: of number i that it holds of a tile is four_of(i).
  template <std::uint32_t crew, class Number>
  GRADRACE_HD static auto* fours(Number* panel, std::uint32_t lane) {
    using Fours = std::conditional_t<std::is_const_v<Number>, const Four<float>, Four<float>>;
    return reinterpret_cast<Fours*>(panel) + (crew == 32 ? lane : 0);
  }
  template <std::uint32_t crew>
  GRADRACE_HD static constexpr std::uint32_t four_of(std::uint32_t i) {
    return crew == 32 ? 32 * i : at(MatrixTile<crew>::place(0, i)) / 4;
  }
  /// Row and column of the panel whose number stands there.
  GRADRACE_HD static constexpr MatrixPlace place(std::uint32_t at) {
    const std::uint32_t lane = at / 4 % 32;
    return {at / 256 * 8 + lane / 4, at / 128 % 2 * 16 + lane % 4 * 4 + at % 4};
  }
};

/// A dense layer of a network that is kept in place.  In a state its panels stand strip by strip,
/// of 16 outputs each, then b, padded with zeros; the panels of a hidden layer are of a multiple of
/// 32 outputs, so that the next one looks at whole panels' columns.
struct InPlaceLayer {
  std::uint32_t outputs, inputs;
  std::uint32_t high, wide;  // panels
  std::uint32_t slices;      // in which the sums of a strip are cut
  std::uint32_t first;       // of its parameters
  std::uint32_t at;          // where it begins in a state
  bool streams;              // its panels are in memory; else
  std::uint32_t shared;      // where they begin in shared memory
  std::uint32_t x, delta;    // where a row's are among its factors; of the first one x is nowhere
  std::uint32_t y;           // where a row's outputs are in the work memory
  Activation f;

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  GRADRACE_HD std::uint32_t panels() const { return high * wide * Panel::numbers; }
  GRADRACE_HD std::uint32_t stride() const { return high * Panel::rows; }
  GRADRACE_HD std::uint32_t numbers() const { return panels() + stride(); }
  GRADRACE_HD std::uint32_t input_stride() const { return wide * Panel::columns; }
  /// Where W[o][k] stands.
  GRADRACE_HD std::uint32_t place(std::uint32_t o, std::uint32_t k) const {
    const std::uint32_t c = k % 32 / 16 + k % 16 / 4 * 2;
    return (o / 16 * wide + k / 32) * Panel::numbers + Panel::at({o % 16, c}) + k % 4;
  }
  /// The number among the layer's parameters of what stands there; none of padding.
  GRADRACE_HD std::uint32_t number(std::uint32_t at_place) const {
    if (at_place >= panels()) {
      const std::uint32_t o = at_place - panels();
      return o < outputs ? outputs * inputs + o : none;
    }
    const std::uint32_t panel = at_place / Panel::numbers;
    const MatrixPlace in = Panel::place(at_place % Panel::numbers);
    const std::uint32_t o = panel / wide * 16 + in.row, k = panel % wide * 32 + in.column;
    return o < outputs && k < inputs ? o * inputs + k : none;
  }
};

/// Rows that a layer looks at, in shared memory: of 32 columns all rows, then of the next 32. Where
/// a warp reads 16 bytes of them they are in an order in which it meets no bank twice.
struct BytesInPlace {
  static constexpr std::uint32_t parts = 1, pieces = 2;  // of 16 bytes, of a row of 32 columns
  const std::uint32_t* words;

  /// Where that piece of row k of a four is.
  GRADRACE_HD static constexpr std::uint32_t piece(std::uint32_t four, std::uint32_t,
                                                   std::uint32_t number) {
    return number ^ (four % 2);
  }

  /// Four numbers of a panel's columns, as whole numbers.
  struct Piece {
    std::uint32_t word;

    /// The last bits of 2^23 stand for ones: quicker on a GPU than its conversion of integers.
    GRADRACE_HD float at(std::uint32_t n) const {
#ifdef __CUDA_ARCH__
      return __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7650u | n)) - 8388608.0f;
#else
      return static_cast<float>(word >> 8 * n & 255);
#endif
    }
  };

  /// Those of that row of eight.
  GRADRACE_HD Piece operator()(std::uint32_t eight, std::uint32_t row, std::uint32_t four) const {
    const std::uint32_t in_eight = row * 8 + piece(row / 4, row % 4, four / 4) * 4 + four % 4;
    return {words[eight * 64 + in_eight]};
  }
};

struct FloatsInPlace {
  static constexpr std::uint32_t parts = 2, pieces = 8;
  const std::uint32_t* words;

  GRADRACE_HD static constexpr std::uint32_t piece(std::uint32_t, std::uint32_t k,
                                                   std::uint32_t number) {
    return number ^ (k + k % 2 * 4);
  }

  struct Piece {
    Four<float> numbers;

    GRADRACE_HD float at(std::uint32_t n) const { return numbers.at[n]; }
  };

  GRADRACE_HD Piece operator()(std::uint32_t eight, std::uint32_t row, std::uint32_t four) const {
    const std::uint32_t in_eight = row * 32 + piece(row / 4, row % 4, four) * 4;
    return {*reinterpret_cast<const Four<float>*>(words + eight * 256 + in_eight)};
  }
};

}  // namespace gradrace::kernels
