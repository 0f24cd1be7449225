#pragma once

#include "models/gpu/kernels/pass.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// y[c, i, j] = the greatest, or the mean, of what there is of x[c, 2i ... 2i + 2, 2j ... 2j + 2].
/// As in Caffe the last window may reach over the edge, so that of a length of n there are
/// ceil((n - 3) / 2) + 1; a mean divides by the pixels that there are.  Of equal numbers the first
/// in reading order is the greatest.  std::runtime_error where nothing is left of the images.
LayerSpec greatest_pooling(const ImageShape& images);
LayerSpec mean_pooling(const ImageShape& images);

}  // namespace gradrace

namespace gradrace::kernels {

/// The part of a pooling layer's window that lies in the image.
struct Window {
  std::uint32_t first, rows, columns;  // first: number of its first pixel in the row

  GRADRACE_HD Window(const Layer& layer, const Pixel& at)
      : first((at.channel * layer.height + layer.stride * at.i) * layer.width +
              layer.stride * at.j),
        rows(length(layer, layer.height, at.i)),
        columns(length(layer, layer.width, at.j)) {}

  GRADRACE_HD static std::uint32_t length(const Layer& layer, std::uint32_t of_image,
                                          std::uint32_t i) {
    const std::uint32_t rest = of_image - layer.stride * i;
    return rest < layer.kernel ? rest : layer.kernel;
  }
};

/// y [n, units] = f(the greatest, or the mean, of each window of x), as Pooling has it; kept, as y:
/// which of a window's kernel^2 was the greatest.
///
/// At least: x read, y written and as many winners; on the way back dz and winners read, dx
/// written.
template <bool mean>
struct PoolingForward {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const Pixel pixel(layer, number);
    const Window window(layer, pixel);
    const Real* const x = at.x + pixel.row * layer.inputs() + window.first;
    Real total = 0, best = x[0], winner = 0;
    for (std::uint32_t k = 0; k < window.rows; ++k) {
      for (std::uint32_t l = 0; l < window.columns; ++l) {
        const Real value = x[k * layer.width + l];
        total += value;
        if (!(value > best || value != value)) continue;  // NaN propagates
        best = value;
        winner = static_cast<Real>(k * layer.kernel + l);
      }
    }
    const Real share = 1 / static_cast<Real>(window.rows * window.columns);
    at.y[number] = activated(layer.f, mean ? total * share : best);
    if (!mean) at.kept[number] = winner;
  }
};

/// From every window that has the pixel.
template <bool mean>
struct PoolingPropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    const Layer& layer = at.layer;
    const auto first = [&](std::uint32_t i) {  // window that reaches to i
      return i < layer.kernel ? 0 : (i - layer.kernel) / layer.stride + 1;
    };
    const InputPixel pixel(layer, number);
    Real total = 0;
    for (std::uint32_t i = first(pixel.i); i < layer.out_height && layer.stride * i <= pixel.i;
         ++i) {
      for (std::uint32_t j = first(pixel.j); j < layer.out_width && layer.stride * j <= pixel.j;
           ++j) {
        const std::uint32_t from =
            ((pixel.row * layer.outputs + pixel.channel) * layer.out_height + i) * layer.out_width +
            j;
        const std::uint32_t place =
            (pixel.i - layer.stride * i) * layer.kernel + pixel.j - layer.stride * j;
        if (mean)
          total += at.by_y[from] / static_cast<Real>(Window::length(layer, layer.height, i) *
                                                     Window::length(layer, layer.width, j));
        else if (static_cast<std::uint32_t>(at.kept[from]) == place)
          total += at.by_y[from];
      }
    }
    at.store(number, total);
  }
};

using GreatestPoolingSteps = EachSteps<PoolingForward<false>, PoolingPropagate<false>, true>;
using MeanPoolingSteps = EachSteps<PoolingForward<true>, PoolingPropagate<true>>;

}  // namespace gradrace::kernels
