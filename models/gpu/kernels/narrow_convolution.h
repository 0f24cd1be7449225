#pragma once

#include "models/gpu/kernels/convolution.h"

namespace gradrace::kernels {

/// dx of a convolution by 5 x 5 of stride 1 without padding whose z has up to eight columns,
/// without a multiplication by the zeros around dz: a thread makes a row of `across` maps, and
/// where it is one of the first four the row that is z's height below it, which takes the rows of
/// the kernel that the first has not.
///
/// A number is one sum over row of the kernel, output and column of the kernel, in this order.  For
/// each row of the kernel and output a thread reads 24 numbers and multiplies 8 x 15 times.
template <class Number>
struct NarrowBackKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;
  std::uint32_t units, groups, images;  // rows of z, groups of maps; of a block
  Divisor of_rows[2];                   // see operator()

  NarrowBackKernel(const Pass<Real>& of_pass, const Layer& of_layer)
      : pass(of_pass),
        layer(of_layer),
        units(ConvolvedShape(layer).z_height),
        groups(ceiling(layer.channels, across)),
        images(images_of(layer, pass.n)),
        of_rows{Divisor(units), Divisor(images)} {}

  static bool takes(const Layer& layer, std::uint32_t n) {
    const ConvolvedShape z(layer);
    return layer.kernel == kernel && layer.stride == 1 && layer.padding == 0 &&
           z.z_width <= columns && z.z_height >= kernel - 1 &&
           layer.width == z.z_width + kernel - 1 && layer.height == z.z_height + kernel - 1 &&
           images_of(layer, n) > 0;
  }

  static constexpr std::uint32_t threads = 128, at_once = sizeof(Real) == 4 ? 4 : 2;
  std::size_t shared_numbers() const { return images * z_numbers(layer) + weights_numbers(layer); }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return (pass.n + images - 1) / images; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const std::uint32_t first = number % blocks() * images;
    const std::uint32_t count = smaller(images, pass.n - first);
    Real* const z = block.template scratch<Real>();
    Real* const w = z + images * z_numbers(layer);
    clear(block, z, images * z_numbers(layer));
    block.sync();
    load<false>(block, maps_of_dz(at), {first, count, 0, layer.outputs, 0, 0, units, columns},
                [&](std::uint32_t o, std::uint32_t image, std::uint32_t i, std::uint32_t j,
                    Real value) { z[row(image, o, i) + (j ^ swap(i))] = value; });
    const Divisor depth(layer.depth);
    each(block, layer.weights(), [&](std::uint32_t i) {
      std::uint32_t o = i;
      const std::uint32_t weight = depth.next(o), tap = weight % (kernel * kernel);
      const std::uint32_t channel = weight / (kernel * kernel);
      w[((tap / kernel * layer.outputs + o) * groups + channel / across) * taps +
        channel % across * kernel + tap % kernel] = at.W()[i];
    });
    block.sync();
    each(block, units * images * groups, [&](std::uint32_t group) {
      const std::uint32_t unit = of_rows[0].next(group), image = of_rows[1].next(group);
      if (image >= count) return;
      Real sums[across][wide] = {};
      GRADRACE_ROLLED
      for (std::uint32_t k = 0; k <= kernel; ++k) {
        if (k == kernel || k == unit + 1) {  // the row is complete
          store(at, first + image, group, k > unit + 1 ? unit + units : unit, sums);
          GRADRACE_UNROLL
          for (std::uint32_t i = 0; i < across * wide; ++i) sums[i / wide][i % wide] = 0;
        }
        if (k == kernel) return;
        const std::uint32_t i = k > unit ? unit + units - k : unit - k;
        const Real* from = z + row(image, 0, i);
        const Real* weights = w + (k * layer.outputs * groups + group) * taps;
        GRADRACE_UNROLL_BY_2
        for (std::uint32_t o = 0; o < layer.outputs; ++o) {
          Real d[columns], v[taps];
          read<4, 4>(from + swap(i), d), read<4, 4>(from + (4 ^ swap(i)), d + 4);
          read<4, taps>(weights, v);
          GRADRACE_UNROLL
          for (std::uint32_t t = 0; t < across * kernel; ++t) {
            GRADRACE_UNROLL
            for (std::uint32_t j = 0; j < columns; ++j) {
              Real& sum = sums[t / kernel][t % kernel + j];
              sum = fused(d[j], v[t], sum);
            }
          }
          from += units * columns, weights += groups * taps;
        }
      }
    });
  }

 private:
  static constexpr std::uint32_t kernel = 5, across = 3, columns = 8;
  static constexpr std::uint32_t wide = columns + kernel - 1, taps = in_fours(across * kernel);

  GRADRACE_HD static std::uint32_t z_numbers(const Layer& layer) {
    return layer.outputs * ConvolvedShape(layer).z_height * columns;
  }
  static std::uint32_t weights_numbers(const Layer& layer) {
    return kernel * layer.outputs * ceiling(layer.channels, across) * taps;
  }
  /// 0: there is no room for one.
  static std::uint32_t images_of(const Layer& layer, std::uint32_t n) {
    constexpr std::uint32_t room = 2 * scratch_numbers;
    if (weights_numbers(layer) > room) return 0;
    const std::uint32_t rows = ConvolvedShape(layer).z_height * ceiling(layer.channels, across);
    return std::min({n, threads / rows, (room - weights_numbers(layer)) / z_numbers(layer)});
  }

  /// Where a row of dz begins, and by what its two halves change places: so that eight of them lie
  /// in different banks.
  GRADRACE_HD std::uint32_t row(std::uint32_t image, std::uint32_t o, std::uint32_t i) const {
    return ((image * layer.outputs + o) * units + i) * columns;
  }
  GRADRACE_HD static std::uint32_t swap(std::uint32_t i) { return i & 4; }

  GRADRACE_HD void store(const LayerAt<Real>& at, std::uint32_t image, std::uint32_t group,
                         std::uint32_t i, const Real (&sums)[across][wide]) const {
    GRADRACE_UNROLL
    for (std::uint32_t c = 0; c < across; ++c) {
      const std::uint32_t plane = image * layer.channels + group * across + c;
      if (group * across + c >= layer.channels) return;
      const std::uint32_t to = (plane * layer.height + i) * layer.width;
      if (layer.width % 4 == 0)
        store<4>(at, to, sums[c]);
      else
        store<1>(at, to, sums[c]);
    }
  }
  /// As LayerAt::store(), `together` numbers at once.
  template <std::uint32_t together>
  GRADRACE_HD void store(const LayerAt<Real>& at, std::uint32_t to,
                         const Real (&sums)[wide]) const {
    Real x[wide] = {}, was[wide] = {};
    GRADRACE_UNROLL
    for (std::uint32_t j = 0; j < wide; j += together) {
      if (j >= layer.width) break;
      read<together, together>(at.x + to + j, x + j);
      if (layer.adds) read<together, together>(at.by_x + to + j, was + j);
    }
    GRADRACE_UNROLL
    for (std::uint32_t j = 0; j < wide; j += together) {
      if (j >= layer.width) break;
      Real numbers[together];
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < together; ++q)
        numbers[q] = was[j + q] + sums[j + q] * slope(layer.before, x[j + q]);
      write(numbers, at.by_x + to + j);
    }
  }
};

}  // namespace gradrace::kernels
