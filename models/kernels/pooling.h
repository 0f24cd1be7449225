#pragma once

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

/// The part of a pooling layer's window that lies in the image.
struct Window {
  std::uint32_t first, rows, columns;  // first: number of its first pixel in the row

  GRADRACE_HD Window(const Layer& layer, const Pixel& at)
      : first((at.channel * layer.height + layer.stride * at.i) * layer.width +
              layer.stride * at.j),
        rows(length(layer, layer.height, at.i)),
        columns(length(layer, layer.width, at.j)) {}

  GRADRACE_HD static std::uint32_t length(const Layer& layer, std::uint32_t of_image,
                                          std::uint32_t i) {
    const std::uint32_t rest = of_image - layer.stride * i;
    return rest < layer.kernel ? rest : layer.kernel;
  }
};

/// y [n, units] = f(the greatest, or the mean, of each window of x), as Pooling has it; winners, as
/// y: which of a window's kernel^2 was the greatest.
///
/// At least: x read, y written and as many winners; on the way back dz and winners read, dx
/// written.
template <class Real, class Block, class X>
GRADRACE_HD void pooling_forward(const Block& block, const Layer& layer, const X& x,
                                 std::uint32_t n, Real* y, Real* winners) {
  const bool mean = layer.kind == LayerKind::mean_pooling;
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const Pixel at(layer, number);
    const Window window(layer, at);
    Real total = 0, best = x(at.row, window.first), winner = 0;
    for (std::uint32_t k = 0; k < window.rows; ++k) {
      for (std::uint32_t l = 0; l < window.columns; ++l) {
        const Real value = x(at.row, window.first + k * layer.width + l);
        total += value;
        if (!(value > best || value != value)) continue;  // what is no number stays so
        best = value;
        winner = static_cast<Real>(k * layer.kernel + l);
      }
    }
    const Real share = 1 / static_cast<Real>(window.rows * window.columns);
    y[number] = activated(layer.f, mean ? total * share : best);
    if (!mean) winners[number] = winner;
  });
  block.sync();
}

/// store(i, k, the derivative by x(i, k)), added up from every window that has it.
template <class Real, class Block, class Store>
GRADRACE_HD void pooling_propagate(const Block& block, const Layer& layer, const Real* dz,
                                   const Real* winners, std::uint32_t n, const Store& store) {
  const bool mean = layer.kind == LayerKind::mean_pooling;
  const auto first = [&](std::uint32_t i) {  // window that reaches to i
    return i < layer.kernel ? 0 : (i - layer.kernel) / layer.stride + 1;
  };
  each(block, n * layer.inputs(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    Real total = 0;
    for (std::uint32_t i = first(at.i); i < layer.out_height && layer.stride * i <= at.i; ++i) {
      for (std::uint32_t j = first(at.j); j < layer.out_width && layer.stride * j <= at.j; ++j) {
        const std::uint32_t from =
            ((at.row * layer.outputs + at.channel) * layer.out_height + i) * layer.out_width + j;
        const std::uint32_t place =
            (at.i - layer.stride * i) * layer.kernel + at.j - layer.stride * j;
        if (mean)
          total += dz[from] / static_cast<Real>(Window::length(layer, layer.height, i) *
                                                Window::length(layer, layer.width, j));
        else if (static_cast<std::uint32_t>(winners[from]) == place)
          total += dz[from];
      }
    }
    store(at.row, at.number, total);
  });
  block.sync();
}

}  // namespace gradrace::kernels
