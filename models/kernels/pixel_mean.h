#pragma once

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

/// y [n, outputs] = f(the mean of each channel of x).  x is read once; on the way back dx is
/// written.
template <class Real, class Block, class X>
GRADRACE_HD void pixel_mean_forward(const Block& block, const Layer& layer, const X& x,
                                    std::uint32_t n, Real* y) {
  const std::uint32_t size = layer.height * layer.width;
  sums<Real>(
      block, n * layer.outputs, size,
      [&](std::uint32_t i, std::uint32_t p) {
        return x(i / layer.outputs, i % layer.outputs * size + p);
      },
      [&](std::uint32_t i, Real sum) { y[i] = activated(layer.f, sum / static_cast<Real>(size)); });
}

/// store(i, k, the derivative by x(i, k)).
template <class Real, class Block, class Store>
GRADRACE_HD void pixel_mean_propagate(const Block& block, const Layer& layer, const Real* dz,
                                      std::uint32_t n, const Store& store) {
  const std::uint32_t size = layer.height * layer.width;
  each(block, n * layer.inputs(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    store(at.row, at.number, dz[number / size] / static_cast<Real>(size));
  });
  block.sync();
}

}  // namespace gradrace::kernels
