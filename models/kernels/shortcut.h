#pragma once

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

/// y [n, units], which is the map before it, becomes f(y + x): every stride-th row and column of an
/// earlier layer's maps, and nothing for the channels that it has not (He et al., CVPR 2016, option
/// A).  The derivative by y is that by the map before it.
///
/// At least: x and y read, y written; on the way back dz read, and what is there of the derivative
/// by x read and written.
template <class Real, class Block, class X>
GRADRACE_HD void shortcut_forward(const Block& block, const Layer& layer, const X& x,
                                  std::uint32_t n, Real* y) {
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const Pixel at(layer, number);
    const std::uint32_t from =
        (at.channel * layer.height + layer.stride * at.i) * layer.width + layer.stride * at.j;
    y[number] =
        activated(layer.f, at.channel < layer.channels ? y[number] + x(at.row, from) : y[number]);
  });
  block.sync();
}

/// store(i, k, the derivative by x(i, k)).
template <class Real, class Block, class Store>
GRADRACE_HD void shortcut_propagate(const Block& block, const Layer& layer, const Real* dz,
                                    std::uint32_t n, const Store& store) {
  each(block, n * layer.inputs(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    const bool added = at.i % layer.stride == 0 && at.j % layer.stride == 0;
    const std::uint32_t to =
        ((at.row * layer.outputs + at.channel) * layer.out_height + at.i / layer.stride) *
            layer.out_width +
        at.j / layer.stride;
    store(at.row, at.number, added ? dz[to] : Real{0});
  });
  block.sync();
}

}  // namespace gradrace::kernels
