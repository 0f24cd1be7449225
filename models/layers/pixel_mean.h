#pragma once

#include "models/gpu/kernels/pass.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// y [channels] = the mean of each channel of the images x.
LayerSpec pixel_mean(const ImageShape& images);

}  // namespace gradrace

namespace gradrace::kernels {

/// y [n, outputs] = f(the mean of each channel of x).  x is read once; on the way back dx is
/// written.
struct PixelMeanForward {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const std::uint32_t size = at.layer.height * at.layer.width;
    Real total = 0;
    for (std::uint32_t p = 0; p < size; ++p) total += at.x[number * size + p];
    at.y[number] = activated(at.layer.f, total / static_cast<Real>(size));
  }
};

struct PixelMeanPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const std::uint32_t size = at.layer.height * at.layer.width;
    at.store(number, at.by_y[number / size] / static_cast<Real>(size));
  }
};

using PixelMeanSteps = EachSteps<PixelMeanForward, PixelMeanPropagate>;

}  // namespace gradrace::kernels
