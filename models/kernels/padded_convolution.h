#pragma once

#include "models/kernels/layer.h"
#include "models/kernels/sums.h"

namespace gradrace::kernels {

/// What the kernels of a padded convolution lie on, out of x: p is pixel p % pixels of row p /
/// pixels, k a number of a row of W; zero beside the image.
template <class Real, class X>
struct Patches {
  const Layer& layer;
  const X& x;

  GRADRACE_HD Real operator()(std::uint32_t p, std::uint32_t k) const {
    const std::uint32_t pixel = p % layer.pixels(), area = layer.kernel * layer.kernel;
    // Above and left of the image the numbers wrap around, and are great.
    const std::uint32_t i =
        pixel / layer.out_width * layer.stride + k % area / layer.kernel - layer.padding;
    const std::uint32_t j =
        pixel % layer.out_width * layer.stride + k % layer.kernel - layer.padding;
    if (i >= layer.height || j >= layer.width) return 0;
    return x(p / layer.pixels(), (k / area * layer.height + i) * layer.width + j);
  }
};

/// y [n, outputs, out_height, out_width] = f(W * x + b), as PaddedConvolution has it.
///
/// Multiplications and additions of n rows, at least: n units depth, on the way back twice as many.
/// Numbers: x and W read, y written; on the way back x, W and dz read, dx and g written.  As a tile
/// of 4 x 4 is made at once, each of x is read depth / channels outputs / 4 times.
template <class Real, class Block, class X>
GRADRACE_HD void padded_convolution_forward(const Block& block, const Layer& layer, const Real* w,
                                            const X& x, std::uint32_t n, Real* y) {
  const Real* const W = w + layer.first;
  const Real* const b = W + layer.weights();
  const std::uint32_t pixels = layer.pixels();
  product<Real>(
      block, layer.outputs, n * pixels, layer.depth,
      [&](std::uint32_t o, std::uint32_t k) { return W[o * layer.depth + k]; },
      Patches<Real, X>{layer, x},
      [&](std::uint32_t o, std::uint32_t p, Real z) {
        y[(p / pixels * layer.outputs + o) * pixels + p % pixels] =
            activated(layer.f, layer.bias ? z + b[o] : z);
      });
}

/// The layer's part of g from dz, as y, the derivative by what f is applied to; `decay` w is added
/// to the weights' part.
template <class Real, class Block, class X>
GRADRACE_HD void padded_convolution_backward(const Block& block, const Layer& layer, const Real* w,
                                             Real decay, const X& x, const Real* dz,
                                             std::uint32_t n, Real* g) {
  const Real* const W = w + layer.first;
  Real* const dW = g + layer.first;
  const std::uint32_t pixels = layer.pixels();
  const Patches<Real, X> patches{layer, x};
  const auto by_output = [&](std::uint32_t o, std::uint32_t p) {
    return dz[(p / pixels * layer.outputs + o) * pixels + p % pixels];
  };
  product<Real>(
      block, layer.outputs, layer.depth, n * pixels, by_output,
      [&](std::uint32_t k, std::uint32_t p) { return patches(p, k); },
      [&](std::uint32_t o, std::uint32_t k, Real sum) {
        const std::uint32_t j = o * layer.depth + k;
        dW[j] = decay != 0 ? sum + decay * W[j] : sum;
      });
  if (!layer.bias) return;
  sums<Real>(block, layer.outputs, n * pixels, by_output,
             [&](std::uint32_t o, Real sum) { dW[layer.weights() + o] = sum; });
}

/// store(i, k, the derivative by x(i, k)).
template <class Real, class Block, class Store>
GRADRACE_HD void padded_convolution_propagate(const Block& block, const Layer& layer, const Real* w,
                                              const Real* dz, std::uint32_t n, const Store& store) {
  const Real* const W = w + layer.first;
  const std::uint32_t area = layer.kernel * layer.kernel, size = layer.height * layer.width;
  product<Real>(
      block, layer.channels, n * size, layer.outputs * area,
      [&](std::uint32_t c, std::uint32_t t) {
        return W[(t / area * layer.channels + c) * area + t % area];
      },
      [&](std::uint32_t p, std::uint32_t t) {
        const std::uint32_t pixel = p % size;
        // Below zero they wrap around, and are great.
        const std::uint32_t i = pixel / layer.width + layer.padding - t % area / layer.kernel;
        const std::uint32_t j = pixel % layer.width + layer.padding - t % layer.kernel;
        const bool inside = i / layer.stride < layer.out_height && i % layer.stride == 0 &&
                            j / layer.stride < layer.out_width && j % layer.stride == 0;
        if (!inside) return Real{0};
        return dz[((p / size * layer.outputs + t / area) * layer.out_height + i / layer.stride) *
                      layer.out_width +
                  j / layer.stride];
      },
      [&](std::uint32_t c, std::uint32_t p, Real sum) {
        store(p / size, c * size + p % size, sum);
      });
}

}  // namespace gradrace::kernels
