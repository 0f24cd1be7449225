#pragma once

#include <cmath>

#include "models/gpu/kernels/pass.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// Local response normalisation within each channel:
///
///     y[c, i, j] = x[c, i, j] s^-beta,  s = 1 + alpha / 9 sum of x[c, i - 1 ... i + 1, j - 1 ... j
///                  + 1]^2
///
/// over what there is of those pixels (always divided by 9), alpha = 5e-5, beta = 3/4.  Source:
/// Krizhevsky, cuda-convnet, 2011; Caffe's layer LRN with WITHIN_CHANNEL, local_size 3, and the
/// constants of its CIFAR-10 examples.
LayerSpec response_normalisation(const ImageShape& images);

}  // namespace gradrace

namespace gradrace::kernels {

constexpr double response_alpha = 5e-5, response_beta = 0.75;

/// The sum of term(number) over what there is of the 3 x 3 around a pixel.
template <class Real, class Term>
GRADRACE_HD Real sum_around(const Layer& layer, const InputPixel& pixel, const Term& term) {
  const std::uint32_t map = (pixel.row * layer.channels + pixel.channel) * layer.height;
  Real total = 0;
  for (std::uint32_t i = pixel.i > 0 ? pixel.i - 1 : 0; i < pixel.i + 2 && i < layer.height; ++i)
    for (std::uint32_t j = pixel.j > 0 ? pixel.j - 1 : 0; j < pixel.j + 2 && j < layer.width; ++j)
      total += term((map + i) * layer.width + j);
  return total;
}

/// y [n, units] = x s^-beta, s = 1 + alpha / 9 sum of x^2 around, as ResponseNormalisation has it;
/// kept: s.
///
/// At least: x read, y and s written; on the way back x, y, s and dz read, dx written.  About 12
/// operations and a power each way a number, of which 9 are read (8 of them from the caches).
struct ResponseNormalisationForward {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const InputPixel pixel(at.layer, number);
    const Real squares =
        sum_around<Real>(at.layer, pixel, [&](std::uint32_t k) { return at.x[k] * at.x[k]; });
    const Real s = 1 + static_cast<Real>(response_alpha / 9) * squares;
    at.kept[number] = s;
    at.y[number] = at.x[number] * std::pow(s, static_cast<Real>(-response_beta));
  }
};

struct ResponseNormalisationPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const InputPixel pixel(at.layer, number);
    const Real total = sum_around<Real>(
        at.layer, pixel, [&](std::uint32_t k) { return at.by_y[k] * at.y[k] / at.kept[k]; });
    const Real own = at.by_y[number] * std::pow(at.kept[number], static_cast<Real>(-response_beta));
    at.store(number, own - static_cast<Real>(2 * response_beta * response_alpha / 9) *
                               at.x[number] * total);
  }
};

using ResponseNormalisationSteps =
    EachSteps<ResponseNormalisationForward, ResponseNormalisationPropagate, true>;

}  // namespace gradrace::kernels
