#pragma once

#include <cstddef>
#include <cstdint>

#include "models/cpu/kernels/convolution_kernels.h"
#include "models/cpu/kernels/inline.h"
#include "models/cpu/kernels/some_lanes.h"

/// What convolution_kernels.h says.  Everything here depends on the type Lanes: Lanes::count
/// numbers in registers, with load, store, in_register, some(p, count) and store_some(p, count)
/// (the first of them alone, the others being 0), all(x), fma, + and total (a tree over lanes);
/// lanes_of_tile, maps_of_tile and sums_held, how many of them a kernel holds.
namespace gradrace::kernels {
namespace {

using Real = Lanes::Number;
constexpr std::size_t abreast = Lanes::count;

/// One pixel of O maps and L lanes of images.  W [channels, kernel, kernel, O].
template <int O, int L>
GRADRACE_INLINE void correlate_pixel(const Correlation<Real>& c, const Taps& rows,
                                     const Taps& columns, const Real* W, const Real* b,
                                     std::size_t first, Real* y, std::size_t plane) {
  const std::size_t left = c.n - first;
  Lanes chain[O][L];
#pragma GCC unroll 16
  for (int o = 0; o < O; ++o)
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) chain[o][l] = Lanes::all(b != nullptr ? b[o] : 0);
  const auto along = static_cast<std::ptrdiff_t>(c.n) * columns.direction;
  for (std::size_t channel = 0; channel < c.channels; ++channel) {
    for (std::uint32_t k = 0; k < rows.count; ++k) {
      const std::int32_t row = rows.source + static_cast<std::int32_t>(k) * rows.direction;
      const Real* x = c.x + first +
                      ((channel * c.height + static_cast<std::size_t>(row)) * c.width +
                       static_cast<std::size_t>(columns.source)) *
                          c.n;
      const Real* w =
          W + ((channel * c.kernel + rows.first + k * rows.step) * c.kernel + columns.first) * O;
      for (std::uint32_t e = 0; e < columns.count; ++e, x += along, w += columns.step * O) {
        Lanes in[L];
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l)
          in[l] = L == 1 ? some_lanes(x, left) : Lanes::load(x + l * abreast);
#pragma GCC unroll 16
        for (int o = 0; o < O; ++o) {
          const Lanes factor = Lanes::all(w[o]);
#pragma GCC unroll 16
          for (int l = 0; l < L; ++l) chain[o][l] = Lanes::fma(factor, in[l], chain[o][l]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int o = 0; o < O; ++o)
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l)
      put_lanes(chain[o][l], y + static_cast<std::size_t>(o) * plane + first + l * abreast,
                L == 1 ? left : abreast);
}

template <int O>
void correlate_maps(const Correlation<Real>& c, const Real* W, const Real* b, Real* y,
                    std::size_t plane) {
  constexpr std::size_t wide = Lanes::lanes_of_tile * abreast;
  for (const Taps& rows : c.rows) {
    for (const Taps& columns : c.columns) {
      std::size_t first = 0;
      for (; first + wide <= c.n; first += wide)
        correlate_pixel<O, Lanes::lanes_of_tile>(c, rows, columns, W, b, first, y, plane);
      for (; first < c.n; first += abreast)
        correlate_pixel<O, 1>(c, rows, columns, W, b, first, y, plane);
      y += c.n;
    }
  }
}

template <int O>
void correlate_rest(const Correlation<Real>& c, std::size_t output, Real* y, Real* scratch) {
  const std::size_t area = c.kernel * c.kernel, plane = c.rows.size() * c.columns.size() * c.n;
  for (; output + O <= c.outputs; output += O) {
    const Real* const w = c.w + output * c.of_output;
    for (std::size_t channel = 0; channel < c.channels; ++channel)
      for (std::size_t k = 0; k < area; ++k)
        for (std::size_t o = 0; o < O; ++o)
          scratch[(channel * area + k) * O + o] = w[o * c.of_output + channel * c.of_channel + k];
    correlate_maps<O>(c, scratch, c.b != nullptr ? c.b + output : nullptr, y + output * plane,
                      plane);
  }
  if constexpr (O > 1) correlate_rest<O / 2>(c, output, y, scratch);
}

void correlate(const Correlation<Real>& c, Real* y, Real* scratch) {
  correlate_rest<Lanes::maps_of_tile>(c, 0, y, scratch);
}

/// The sums of K weights beside each other, of each of O outputs.
template <int O, int K>
struct WeightSums {
  Lanes chain[O][K];

  /// far: from one output's sums to the next one's.
  GRADRACE_INLINE void load(const Real* from, std::size_t far) {
#pragma GCC unroll 16
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 16
      for (int k = 0; k < K; ++k)
        chain[o][k] = Lanes::load(from + static_cast<std::size_t>(o) * far + k * abreast);
  }
  GRADRACE_INLINE void store(Real* to, std::size_t far) const {
#pragma GCC unroll 16
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 16
      for (int k = 0; k < K; ++k)
        chain[o][k].store(to + static_cast<std::size_t>(o) * far + k * abreast);
  }

  /// Adds dz x of `numbers` images, or of those of pixels beside each other: weight k meets x + k n
  /// where begin <= k < end or everything is inside, else a zero of the padding.
  template <bool inside>
  GRADRACE_INLINE void add(const Real* x, std::size_t n, const Real* dz, std::size_t plane,
                           std::size_t numbers, std::ptrdiff_t begin = 0, std::ptrdiff_t end = 0) {
    std::size_t at = 0;
    for (; at + abreast <= numbers; at += abreast)
      add_images<inside>(x + at, n, dz + at, plane, abreast, begin, end);
    if (at < numbers) add_images<inside>(x + at, n, dz + at, plane, numbers - at, begin, end);
  }

 private:
  template <bool inside>
  GRADRACE_INLINE void add_images(const Real* x, std::size_t n, const Real* dz, std::size_t plane,
                                  std::size_t left, std::ptrdiff_t begin, std::ptrdiff_t end) {
    Lanes in[K];
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k)
      in[k] = inside || (k >= begin && k < end)
                  ? some_lanes(x + static_cast<std::size_t>(k) * n, left)
                  : Lanes::all(0);
#pragma GCC unroll 16
    for (int o = 0; o < O; ++o) {
      const Lanes d = some_lanes(dz + static_cast<std::size_t>(o) * plane, left).in_register();
#pragma GCC unroll 16
      for (int k = 0; k < K; ++k) chain[o][k] = Lanes::fma(d, in[k], chain[o][k]);
    }
  }
};

/// A gradient by W, rows [begin, end) and columns [left, right) of dz at a time.
struct WeightPass {
  const ConvolutionShape& shape;
  std::size_t n;
  const Real *x, *dz;
  Real* sums;  // [outputs, channels, kernel, kernel, abreast]
  std::size_t begin = 0, end = 0, left = 0, right = 0;

  std::size_t plane() const { return shape.out_height * shape.out_width * n; }
  static std::ptrdiff_t whole(std::size_t a) { return static_cast<std::ptrdiff_t>(a); }
  static std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
  /// a, or the bound that it is beyond.
  static std::ptrdiff_t between(std::ptrdiff_t low, std::ptrdiff_t high, std::ptrdiff_t a) {
    return a < low ? low : a > high ? high : a;
  }

  /// Weights [l, l + K) of row k of that channel, of outputs [output, output + O).
  template <int O, int K>
  void add_row(std::size_t output, std::size_t channel, std::size_t k, std::size_t l) const {
    const std::size_t far = shape.channels * shape.area() * abreast;
    Real* const at =
        sums + output * far + (channel * shape.area() + k * shape.kernel + l) * abreast;
    WeightSums<O, K> row;
    row.load(at, far);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t padded = shape.stride * i + k;
      if (padded < shape.padding || padded >= shape.height + shape.padding) continue;
      const std::size_t of_x = channel * shape.height + padded - shape.padding;
      add_pixels(row, x + of_x * shape.width * n, dz + output * plane() + i * shape.out_width * n,
                 l);
    }
    row.store(at, far);
  }

  /// A row of pixels of dz with one of x.
  template <int O, int K>
  GRADRACE_INLINE void add_pixels(WeightSums<O, K>& row, const Real* of_x, const Real* of_dz,
                                  std::size_t l) const {
    const std::ptrdiff_t stride = whole(shape.stride), from = whole(left), out = whole(right);
    const std::ptrdiff_t width = whole(shape.width), images = whole(n);
    const std::ptrdiff_t before = whole(shape.padding) - whole(l);  // of x's first pixel
    // Pixels of dz all of whose K pixels of x are there: [first, last).
    const std::ptrdiff_t first = between(from, out, (before + stride - 1) / stride);
    const std::ptrdiff_t room = width - K + before;
    const std::ptrdiff_t last = room < 0 ? first : between(first, out, room / stride + 1);
    const auto edge = [&](std::ptrdiff_t j) GRADRACE_ALWAYS {
      const std::ptrdiff_t pixel = stride * j - before;
      row.template add<false>(of_x + pixel * images, n, of_dz + j * images, plane(), n, -pixel,
                              width - pixel);
    };
    for (std::ptrdiff_t j = from; j < first; ++j) edge(j);
    const bool one_run = stride == 1 && n % abreast == 0;
    const std::ptrdiff_t pixels = one_run ? last - first : 1;
    for (std::ptrdiff_t j = first; j < last; j += pixels)
      row.template add<true>(of_x + (stride * j - before) * images, n, of_dz + j * images, plane(),
                             static_cast<std::size_t>(pixels * images));
    for (std::ptrdiff_t j = last; j < out; ++j) edge(j);
  }

  /// All weights of outputs [output, output + O) whose column is l or beyond, K at once and then
  /// the rest.
  template <int O, int K>
  void add_columns(std::size_t output, std::size_t l) const {
    for (; l + K <= shape.kernel; l += K)
      for (std::size_t channel = 0; channel < shape.channels; ++channel)
        for (std::size_t k = 0; k < shape.kernel; ++k) add_row<O, K>(output, channel, k, l);
    if constexpr (K > 1) add_columns<O, K - 1>(output, l);
  }

  template <int O, int K>
  void add_outputs(std::size_t output) const {
    for (; output + O <= shape.outputs; output += O) add_columns<O, K>(output, 0);
    if constexpr (O > 1) add_outputs<O / 2, K>(output);
  }
};

void weight_sums(const ConvolutionShape& shape, std::size_t n, const Real* x, const Real* dz,
                 Real* dW, Real* scratch) {
  for (std::size_t w = 0; w < shape.weights(); ++w) Lanes::all(0).store(scratch + w * abreast);
  WeightPass pass{shape, n, x, dz, scratch};
  constexpr int of_three = Lanes::sums_held / 3, of_more = (Lanes::sums_held + 3) / 6;
  const int outputs = shape.kernel <= 3 ? of_three : of_more;
  // So many pixels that what is read of dz stays in the cache.
  const std::size_t most = 512 / static_cast<std::size_t>(outputs);
  const std::size_t lanes = (n + abreast - 1) / abreast, pixels = lanes < most ? most / lanes : 1;
  const std::size_t rows = pixels < shape.out_width ? 1 : pixels / shape.out_width;
  for (; pass.begin < shape.out_height; pass.begin = pass.end) {
    pass.end = WeightPass::least(pass.begin + rows, shape.out_height);
    for (pass.left = 0; pass.left < shape.out_width; pass.left = pass.right) {
      pass.right = WeightPass::least(pass.left + pixels, shape.out_width);
      if (shape.kernel <= 3)
        pass.add_outputs<of_three, 3>(0);
      else
        pass.add_outputs<of_more, 5>(0);
    }
  }
  for (std::size_t w = 0; w < shape.weights(); ++w)
    dW[w] = Lanes::load(scratch + w * abreast).total();
}

void map_sums(const Real* maps, std::size_t count, std::size_t numbers, Real* sums) {
  for (std::size_t map = 0; map < count; ++map, maps += numbers) {
    Lanes sum = Lanes::all(0);
    std::size_t at = 0;
    for (; at + abreast <= numbers; at += abreast) sum = sum + Lanes::load(maps + at);
    if (at < numbers) sum = sum + Lanes::some(maps + at, numbers - at);
    sums[map] = sum.total();
  }
}

}  // namespace
}  // namespace gradrace::kernels
