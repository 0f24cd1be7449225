#pragma once

#include "models/layers/kernels/patches.h"

namespace gradrace::kernels {

/// y [n, outputs, out_height, out_width] = f(maps + b), as PaddedConvolution has it.  number: of
/// the strip's.
struct Maps {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const std::uint32_t pixels = layer.pixels();
    const std::uint32_t row = number / layer.units(), channel = number / pixels % layer.outputs;
    const Real z = at.maps[(channel * at.strip.rows + row) * pixels + number % pixels];
    at.y[at.strip.first * layer.units() + number] =
        activated(layer.f, layer.bias ? z + at.b()[channel] : z);
  }
};

/// Number `number` of the derivatives by the strip's maps.
struct MapsPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const std::uint32_t pixels = layer.pixels();
    const std::uint32_t row = at.strip.first + number / pixels % at.strip.rows;
    const std::uint32_t channel = number / pixels / at.strip.rows;
    at.maps[number] = at.by_y[(row * layer.outputs + channel) * pixels + number % pixels];
  }
};

using PaddedConvolutionSteps =
    ConvolutionSteps<LayerKind::padded_convolution, Maps, MapsPropagate, false>;

}  // namespace gradrace::kernels
