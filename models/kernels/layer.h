#pragma once

#include <cmath>

#include "models/kernels/rows.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

enum class Function : std::uint8_t { identity, relu, tanh };

/// One layer of a network, fully connected or a convolution with pooling, followed by f: as Dense
/// and Convolution define them.  Parameters from `first` on: W [outputs, depth], row-major, then b
/// [outputs].
struct Layer {
  bool convolution = false;
  Function f = Function::identity;
  std::uint32_t first = 0;
  std::uint32_t outputs = 0;  // of a convolution: channels
  std::uint32_t depth = 0;    // inputs of one output: features, or channels kernel^2
  // Of a convolution alone: what it looks at, and what is left after pooling.
  std::uint32_t kernel = 0, channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  // Where things of a row begin in the work memory, in numbers.
  std::uint32_t y = 0, winners = 0;

  GRADRACE_HD std::uint32_t weights() const { return outputs * depth; }
  GRADRACE_HD std::uint32_t pixels() const { return convolution ? out_height * out_width : 1; }
  /// Numbers that it looks at and gives, of one row.
  GRADRACE_HD std::uint32_t inputs() const {
    return convolution ? channels * height * width : depth;
  }
  GRADRACE_HD std::uint32_t units() const { return outputs * pixels(); }
};

/// What is no number stays so.
template <class Real>
GRADRACE_HD Real activated(Function f, Real z) {
  if (f == Function::tanh) return std::tanh(z);
  return f == Function::relu && z < 0 ? Real{0} : z;
}

/// f'(z), from y = f(z).
template <class Real>
GRADRACE_HD Real slope(Function f, Real y) {
  if (f == Function::tanh) return 1 - y * y;
  return f == Function::relu && !(y > 0) ? Real{0} : Real{1};
}

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
