#pragma once

#include "models/kernels/layer.h"
#include "models/kernels/rows.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

/// y [n, outputs] = f(x W^T + b).
template <class Real, class Block, class X>
GRADRACE_HD void dense_forward(const Block& block, const Layer& layer, const Real* w, const X& x,
                               std::uint32_t n, Real* y) {
  const Real* const W = w + layer.first;
  const Real* const b = W + layer.weights();
  product<Real>(
      block, n, layer.outputs, layer.depth, x,
      [=](std::uint32_t o, std::uint32_t k) { return W[o * layer.depth + k]; },
      [=](std::uint32_t i, std::uint32_t o, Real z) {
        y[i * layer.outputs + o] = activated(layer.f, z + b[o]);
      });
}

/// The layer's part of g from dz [n, outputs]; `decay` w is added to the weights' part.
template <class Real, class Block, class X>
GRADRACE_HD void dense_backward(const Block& block, const Layer& layer, const Real* w, Real decay,
                                const X& x, const Real* dz, std::uint32_t n, Real* g) {
  const Real* const W = w + layer.first;
  Real* const dW = g + layer.first;
  const auto by_output = [=](std::uint32_t o, std::uint32_t i) {
    return dz[i * layer.outputs + o];
  };
  product<Real>(
      block, layer.outputs, layer.depth, n, by_output,
      [=](std::uint32_t k, std::uint32_t i) { return x(i, k); },
      [=](std::uint32_t o, std::uint32_t k, Real sum) {
        const std::uint32_t j = o * layer.depth + k;
        dW[j] = decay != 0 ? sum + decay * W[j] : sum;
      });
  sums<Real>(block, layer.outputs, n, by_output,
             [=](std::uint32_t o, Real sum) { dW[layer.weights() + o] = sum; });
}

/// store(i, k, the derivative by x(i, k)).
template <class Real, class Block, class Store>
GRADRACE_HD void dense_propagate(const Block& block, const Layer& layer, const Real* w,
                                 const Real* dz, std::uint32_t n, const Store& store) {
  const Real* const W = w + layer.first;
  product<Real>(
      block, n, layer.depth, layer.outputs, UnitRows<Real>{dz, layer.outputs},
      [=](std::uint32_t k, std::uint32_t o) { return W[o * layer.depth + k]; }, store);
}

}  // namespace gradrace::kernels
