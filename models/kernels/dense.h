#pragma once

#include "models/kernels/pass.h"

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

struct DensePropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    at.store(number, at.patches[number]);
  }
};

}  // namespace gradrace::kernels
