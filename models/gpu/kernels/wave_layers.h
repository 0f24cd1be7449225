#pragma once

#include "models/gpu/kernels/in_place_network.h"

/// What is done with dense layers beside the products of their matrices, which a library makes.
namespace gradrace::kernels {

/// to [n, stride of the split] = rows of those numbers.
template <class Block, class Real>
GRADRACE_HD void write_down_fours(const Block& block, const Split& split,
                                  const std::uint32_t* numbers, std::uint32_t n, Real* to) {
  const std::uint32_t wide = split.stride / 4;
  with_fours<Real>(split, numbers, [&](const auto& x) {
    each(block, n * wide, [&](std::uint32_t i) {
      reinterpret_cast<Four<Real>*>(to)[i] = x(i / wide, i % wide * 4);
    });
  });
  block.sync();
}

/// y = f(y + b) of a layer of w, n rows.
template <class Block, class Real>
GRADRACE_HD void activate(const Block& block, const InPlaceLayer& layer, const Real* w,
                          std::uint32_t n, Real* y) {
  const Real* const b = w + layer.first + layer.outputs * layer.inputs;
  each(block, n * layer.outputs, [&](std::uint32_t i) {
    const std::uint32_t o = i % layer.outputs;
    Real& unit = y[i / layer.outputs * layer.stride + o];
    unit = activated(layer.f, unit + b[o]);
  });
  block.sync();
}

/// delta = delta f'(z) of a layer, where y = f(z).
template <class Block, class Real>
GRADRACE_HD void times_slope(const Block& block, const InPlaceLayer& layer, std::uint32_t n,
                             const Real* y, Real* delta) {
  each(block, n * layer.outputs, [&](std::uint32_t i) {
    const std::uint32_t at = i / layer.outputs * layer.stride + i % layer.outputs;
    delta[at] *= slope(layer.f, y[at]);
  });
  block.sync();
}

/// delta = weight delta, and what is left of b.
template <class Block, class Real>
GRADRACE_HD void weigh(const Block& block, const InPlaceLayer& layer, std::uint32_t n, Real weight,
                       Real* delta, Real* b) {
  each(block, layer.outputs, [&](std::uint32_t o) {
    Real total = 0;
    for (std::uint32_t i = 0; i < n; ++i) total += delta[i * layer.stride + o] *= weight;
    b[o] -= total;
  });
  block.sync();
}

}  // namespace gradrace::kernels
