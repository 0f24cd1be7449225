#pragma once

#include "models/kernels/pass.h"

/// Convolutions as products.  A window is what W lies on, out of x, to give one pixel; the windows
/// of a strip's rows, written down as columns of numbers, are its patches [depth, rows windows].
/// Then maps [outputs, rows windows] = W patches, dW = dmaps patches^T and dpatches = W^T dmaps.
///
/// What patches cost beside the products, of s windows a row: n depth s numbers written and read
/// twice by a gradient, read once more by its second product, and n depth s written and read by
/// the third.  A number of W enters n s multiplications, so that of o outputs one number of the
/// patches enters o.
namespace gradrace::kernels {

/// Of a convolution of that kind.  One that pools has four for each pixel that it gives.
struct Windows {
  std::uint32_t height, width, stride, padding;

  GRADRACE_HD explicit Windows(const Layer& layer) {
    if (layer.kind == LayerKind::convolution)
      height = 2 * layer.out_height, width = 2 * layer.out_width, stride = 1, padding = 0;
    else
      height = layer.out_height, width = layer.out_width, stride = layer.stride,
      padding = layer.padding;
  }
  GRADRACE_HD std::uint32_t count() const { return height * width; }
};

/// Number `number` of patches; zero beside the image.
struct Patches {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const Windows windows(layer);
    const std::uint32_t columns = at.strip.rows * windows.count();
    const std::uint32_t k = number / columns, p = number % columns, window = p % windows.count();
    // Above and left of the image the numbers wrap around, and are great.
    const std::uint32_t i =
        window / windows.width * windows.stride + k / layer.kernel % layer.kernel - windows.padding;
    const std::uint32_t j =
        window % windows.width * windows.stride + k % layer.kernel - windows.padding;
    const std::uint32_t row = at.strip.first + p / windows.count();
    const std::uint32_t channel = k / (layer.kernel * layer.kernel);
    at.patches[number] =
        i < layer.height && j < layer.width
            ? at.x[((row * layer.channels + channel) * layer.height + i) * layer.width + j]
            : Real{0};
  }
};

/// From dpatches, which stand in the place of patches: number `number` of the strip's derivatives
/// by x, from every window that has it.
struct PatchesPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const Windows windows(layer);
    const std::uint32_t columns = at.strip.rows * windows.count();
    const InputPixel pixel(layer, number);
    Real total = 0;
    for (std::uint32_t k = 0; k < layer.kernel; ++k) {
      const std::uint32_t i = pixel.i + windows.padding - k;  // below zero it wraps around
      if (i % windows.stride != 0 || i / windows.stride >= windows.height) continue;
      for (std::uint32_t l = 0; l < layer.kernel; ++l) {
        const std::uint32_t j = pixel.j + windows.padding - l;
        if (j % windows.stride != 0 || j / windows.stride >= windows.width) continue;
        const std::uint32_t of_w = (pixel.channel * layer.kernel + k) * layer.kernel + l;
        const std::uint32_t window = i / windows.stride * windows.width + j / windows.stride;
        total += at.patches[of_w * columns + pixel.row * windows.count() + window];
      }
    }
    at.store(at.strip.first * layer.inputs() + number, total);
  }
};

}  // namespace gradrace::kernels
