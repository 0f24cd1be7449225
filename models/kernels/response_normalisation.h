#pragma once

#include <cmath>

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

constexpr double response_alpha = 5e-5, response_beta = 0.75;

/// The sum of term(number of the row's) over what there is of the 3 x 3 around a pixel.
template <class Real, class Term>
GRADRACE_HD Real sum_around(const Layer& layer, const InputPixel& at, const Term& term) {
  Real total = 0;
  for (std::uint32_t i = at.i > 0 ? at.i - 1 : 0; i < at.i + 2 && i < layer.height; ++i)
    for (std::uint32_t j = at.j > 0 ? at.j - 1 : 0; j < at.j + 2 && j < layer.width; ++j)
      total += term((at.channel * layer.height + i) * layer.width + j);
  return total;
}

/// y [n, units] = x s^-beta, s = 1 + alpha / 9 sum of x^2 around, as ResponseNormalisation has it.
///
/// At least: x read, y and s written; on the way back x, y, s and dz read, dx written.  About 12
/// operations and a power each way a number, of which 9 are read (from the caches but for one).
template <class Real, class Block, class X>
GRADRACE_HD void response_normalisation_forward(const Block& block, const Layer& layer, const X& x,
                                                std::uint32_t n, Real* y, Real* s) {
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    const Real squares =
        sum_around<Real>(layer, at, [&](std::uint32_t k) { return x(at.row, k) * x(at.row, k); });
    s[number] = 1 + static_cast<Real>(response_alpha / 9) * squares;
    y[number] = x(at.row, at.number) * std::pow(s[number], static_cast<Real>(-response_beta));
  });
  block.sync();
}

/// store(i, k, the derivative by x(i, k)).
template <class Real, class Block, class X, class Store>
GRADRACE_HD void response_normalisation_propagate(const Block& block, const Layer& layer,
                                                  const X& x, const Real* y, const Real* s,
                                                  const Real* dz, std::uint32_t n,
                                                  const Store& store) {
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    const std::uint32_t row = number - at.number;
    const Real total = sum_around<Real>(
        layer, at, [&](std::uint32_t k) { return dz[row + k] * y[row + k] / s[row + k]; });
    const Real own = dz[number] * std::pow(s[number], static_cast<Real>(-response_beta));
    store(at.row, at.number,
          own - static_cast<Real>(2 * response_beta * response_alpha / 9) * x(at.row, at.number) *
                    total);
  });
  block.sync();
}

}  // namespace gradrace::kernels
