#pragma once

#include <cstddef>

#include "models/gpu/kernels/pass.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// y, which is the map before it, becomes y + x: every stride-th row and column of the maps of
/// layer number `from`, which are x, and nothing for the channels that x has not (He et al., CVPR
/// 2016, option A).  On the way back dx is added to.
LayerSpec shortcut(const ImageShape& x, const ImageShape& y, std::size_t from, std::size_t stride);

}  // namespace gradrace

namespace gradrace::kernels {

/// Whether what it adds has the shape of what it gives: each number its own.
GRADRACE_HD inline bool adds_alike(const Layer& layer) {
  return layer.stride == 1 && layer.channels == layer.outputs;
}

/// y [n, units], which is the map before it, becomes f(y + x): every stride-th row and column of an
/// earlier layer's maps, and nothing for the channels that it has not (He et al., CVPR 2016, option
/// A).  The derivative by y is that by the map before it.
///
/// At least: x and y read, y written; on the way back dz read, and what is there of the derivative
/// by x read and written.
struct ShortcutForward {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const Real y = at.y[number];
    if (adds_alike(layer)) {
      at.y[number] = activated(layer.f, y + at.x[number]);
      return;
    }
    const Pixel pixel(layer, number);
    const std::uint32_t from =
        ((pixel.row * layer.channels + pixel.channel) * layer.height + layer.stride * pixel.i) *
            layer.width +
        layer.stride * pixel.j;
    at.y[number] = activated(layer.f, pixel.channel < layer.channels ? y + at.x[from] : y);
  }
};

struct ShortcutPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    if (adds_alike(layer)) return at.store(number, at.by_y[number]);
    const InputPixel pixel(layer, number);
    const bool added = pixel.i % layer.stride == 0 && pixel.j % layer.stride == 0;
    const std::uint32_t to =
        ((pixel.row * layer.outputs + pixel.channel) * layer.out_height + pixel.i / layer.stride) *
            layer.out_width +
        pixel.j / layer.stride;
    at.store(number, added ? at.by_y[to] : Real{0});
  }
};

using ShortcutSteps = EachSteps<ShortcutForward, ShortcutPropagate>;

}  // namespace gradrace::kernels
