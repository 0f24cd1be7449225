#pragma once

#include "models/gpu/kernels/pass.h"

/// What a dense layer does beside products: y [n, outputs] = x W^T, dW = dz^T x, and patches
/// [n, depth] = dz W.
namespace gradrace::kernels {

/// y = f(y + b).
struct DenseUnits {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    at.y[number] = activated(at.layer.f, at.y[number] + at.b()[number % at.layer.outputs]);
  }
};

/// Number `number` of b's part of g.
struct DenseBias {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    Real total = 0;
    for (std::uint32_t i = 0; i < at.n; ++i) total += at.by_y[i * at.layer.outputs + number];
    at.g[at.layer.first + at.layer.weights() + number] = total;
  }
};

struct DensePropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    at.store(number, at.patches[number]);
  }
};

}  // namespace gradrace::kernels
