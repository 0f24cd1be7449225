#pragma once

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

/// y [n, outputs, out_height, out_width] = f(greatest of each 2 x 2 of W * x, plus b); winners, as
/// y: which of the four was the greatest, the first in reading order.
template <class Real, class Block, class X>
GRADRACE_HD void convolution_forward(const Block& block, const Layer& layer, const Real* w,
                                     const X& x, std::uint32_t n, Real* y, Real* winners) {
  const Real* const W = w + layer.first;
  const Real* const b = W + layer.weights();
  each(block, n * layer.units(), [&](std::uint32_t number) {
    const Pixel at(layer, number);
    const Real* weight = W + at.channel * layer.depth;
    Real z[4] = {};
    for (std::uint32_t c = 0; c < layer.channels; ++c) {
      for (std::uint32_t k = 0; k < layer.kernel; ++k) {
        for (std::uint32_t l = 0; l < layer.kernel; ++l, ++weight) {
          const std::uint32_t from = (c * layer.height + 2 * at.i + k) * layer.width + 2 * at.j + l;
          z[0] += *weight * x(at.row, from);
          z[1] += *weight * x(at.row, from + 1);
          z[2] += *weight * x(at.row, from + layer.width);
          z[3] += *weight * x(at.row, from + layer.width + 1);
        }
      }
    }
    Real best = z[0], winner = 0;
    for (std::uint32_t k = 1; k < 4; ++k) {
      if (!(z[k] > best || z[k] != z[k])) continue;  // what is no number stays so
      best = z[k];
      winner = static_cast<Real>(k);
    }
    y[number] = activated(layer.f, best + b[at.channel]);
    winners[number] = winner;
  });
  block.sync();
}

/// The layer's part of g from dz, as y, the derivative by what f is applied to; `decay` w is added
/// to the weights' part.
template <class Real, class Block, class X>
GRADRACE_HD void convolution_backward(const Block& block, const Layer& layer, const Real* w,
                                      Real decay, const X& x, const Real* dz, const Real* winners,
                                      std::uint32_t n, Real* g) {
  const Real* const W = w + layer.first;
  Real* const dW = g + layer.first;
  const std::uint32_t pixels = layer.pixels(), area = layer.kernel * layer.kernel;
  // Term p of the channel's sums is pixel p % pixels of row p / pixels.
  const auto number = [=](std::uint32_t channel, std::uint32_t p) {
    return (p / pixels * layer.outputs + channel) * pixels + p % pixels;
  };
  sums<Real>(
      block, layer.weights(), n * pixels,
      [=](std::uint32_t weight, std::uint32_t p) {
        const std::uint32_t part = weight % layer.depth;
        const std::uint32_t c = part / area, k = part % area / layer.kernel,
                            l = part % layer.kernel;
        const Pixel at(layer, number(weight / layer.depth, p));
        const auto winner = static_cast<std::uint32_t>(winners[number(at.channel, p)]);
        const std::uint32_t row = 2 * at.i + winner / 2 + k, column = 2 * at.j + winner % 2 + l;
        return dz[number(at.channel, p)] *
               x(at.row, (c * layer.height + row) * layer.width + column);
      },
      [=](std::uint32_t weight, Real sum) {
        dW[weight] = decay != 0 ? sum + decay * W[weight] : sum;
      });
  sums<Real>(
      block, layer.outputs, n * pixels,
      [=](std::uint32_t channel, std::uint32_t p) { return dz[number(channel, p)]; },
      [=](std::uint32_t channel, Real sum) { dW[layer.weights() + channel] = sum; });
}

/// store(i, k, the derivative by x(i, k)), added up from every pixel that x(i, k) won.
template <class Real, class Block, class Store>
GRADRACE_HD void convolution_propagate(const Block& block, const Layer& layer, const Real* w,
                                       const Real* dz, const Real* winners, std::uint32_t n,
                                       const Store& store) {
  const Real* const W = w + layer.first;
  each(block, n * layer.inputs(), [&](std::uint32_t number) {
    const InputPixel at(layer, number);
    Real total = 0;
    for (std::uint32_t o = 0; o < layer.outputs; ++o) {
      const Real* const weight =
          W + (o * layer.channels + at.channel) * layer.kernel * layer.kernel;
      for (std::uint32_t k = 0; k < layer.kernel && k <= at.i; ++k) {
        if ((at.i - k) / 2 >= layer.out_height) continue;
        for (std::uint32_t l = 0; l < layer.kernel && l <= at.j; ++l) {
          if ((at.j - l) / 2 >= layer.out_width) continue;
          const std::uint32_t from =
              ((at.row * layer.outputs + o) * layer.out_height + (at.i - k) / 2) * layer.out_width +
              (at.j - l) / 2;
          const auto winner = static_cast<std::uint32_t>(winners[from]);
          if (winner == (at.i - k) % 2 * 2 + (at.j - l) % 2)
            total += dz[from] * weight[k * layer.kernel + l];
        }
      }
    }
    store(at.row, at.number, total);
  });
  block.sync();
}

}  // namespace gradrace::kernels
