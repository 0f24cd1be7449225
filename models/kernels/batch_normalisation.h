#pragma once

#include <cmath>

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

constexpr double batch_epsilon = 1e-5;

/// u = (x - mean) / sqrt(variance + epsilon) of a number of x [n, units], with the mean and
/// variance that stand among `statistics` [d]: in a gradient they are g's, in an evaluation w's.
template <class Real, class X>
struct Normalised {
  const Layer& layer;
  const X& x;
  const Real* statistics;

  GRADRACE_HD Real per_deviation(std::uint32_t channel) const {
    const Real variance = statistics[layer.statistics + layer.outputs + channel];
    return 1 / std::sqrt(variance + static_cast<Real>(batch_epsilon));
  }
  GRADRACE_HD Real operator()(std::uint32_t row, std::uint32_t channel, std::uint32_t p) const {
    return (x(row, channel * layer.pixels() + p) - statistics[layer.statistics + channel]) *
           per_deviation(channel);
  }
};

/// The statistics of a minibatch of n rows, at their places in g.
///
/// x is read twice; then, with what follows, once more for y, and on the way back twice for dx, dz
/// too; y and dx are written.
template <class Real, class Block, class X>
GRADRACE_HD void batch_statistics(const Block& block, const Layer& layer, const X& x,
                                  std::uint32_t n, Real* g) {
  const std::uint32_t pixels = layer.pixels();
  const Real count = static_cast<Real>(n * pixels);
  Real* const mean = g + layer.statistics;
  Real* const variance = mean + layer.outputs;
  const auto at = [&](std::uint32_t c, std::uint32_t p) {
    return x(p / pixels, c * pixels + p % pixels);
  };
  sums<Real>(block, layer.outputs, n * pixels, at,
             [&](std::uint32_t c, Real sum) { mean[c] = sum / count; });
  sums<Real>(
      block, layer.outputs, n * pixels,
      [&](std::uint32_t c, std::uint32_t p) {
        const Real difference = at(c, p) - mean[c];
        return difference * difference;
      },
      [&](std::uint32_t c, Real sum) { variance[c] = sum / count; });
}

/// y [n, units] = f(gamma u + b), as BatchNormalisation has it.
template <class Real, class Block, class X>
GRADRACE_HD void batch_normalisation_forward(const Block& block, const Layer& layer, const Real* w,
                                             const Real* statistics, const X& x, std::uint32_t n,
                                             Real* y) {
  const Real* const b = w + layer.first;
  const Real* const gamma = b + layer.outputs;
  const Normalised<Real, X> u{layer, x, statistics};
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const std::uint32_t p = number / layer.pixels(), c = p % layer.outputs;
    y[number] =
        activated(layer.f, u(p / layer.outputs, c, number % layer.pixels()) * gamma[c] + b[c]);
  });
  block.sync();
}

/// The layer's part of g, which has the statistics of the minibatch, from dz.
template <class Real, class Block, class X>
GRADRACE_HD void batch_normalisation_backward(const Block& block, const Layer& layer, const X& x,
                                              const Real* dz, std::uint32_t n, Real* g) {
  const std::uint32_t pixels = layer.pixels();
  Real* const db = g + layer.first;
  Real* const dgamma = db + layer.outputs;
  const Normalised<Real, X> u{layer, x, g};
  const auto by_y = [&](std::uint32_t c, std::uint32_t p) {
    return dz[(p / pixels * layer.outputs + c) * pixels + p % pixels];
  };
  sums<Real>(block, layer.outputs, n * pixels, by_y,
             [&](std::uint32_t c, Real sum) { db[c] = sum; });
  sums<Real>(
      block, layer.outputs, n * pixels,
      [&](std::uint32_t c, std::uint32_t p) { return by_y(c, p) * u(p / pixels, c, p % pixels); },
      [&](std::uint32_t c, Real sum) { dgamma[c] = sum; });
}

/// store(i, k, the derivative by x(i, k)), after the layer's part of g.
template <class Real, class Block, class X, class Store>
GRADRACE_HD void batch_normalisation_propagate(const Block& block, const Layer& layer,
                                               const Real* w, const X& x, const Real* dz,
                                               std::uint32_t n, const Real* g, const Store& store) {
  const Real* const gamma = w + layer.first + layer.outputs;
  const Real* const db = g + layer.first;
  const Real* const dgamma = db + layer.outputs;
  const Normalised<Real, X> u{layer, x, g};
  const Real share = 1 / static_cast<Real>(n * layer.pixels());
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    const std::uint32_t c = at.channel;
    const Real own = u(at.row, c, at.number % layer.pixels());
    store(at.row, at.number,
          gamma[c] * u.per_deviation(c) * (dz[number] - share * db[c] - share * dgamma[c] * own));
  });
  block.sync();
}

}  // namespace gradrace::kernels
