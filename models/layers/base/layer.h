#pragma once

#include <cmath>
#include <cstdint>

#include "sim/host_device.h"

namespace gradrace {

enum class Activation : std::uint8_t { identity, relu, tanh };

}  // namespace gradrace

namespace gradrace::kernels {

/// Place of a layer's kind in LayerTable (layers/layer_table.h).
enum class LayerKind : std::uint8_t {};

/// One layer of a network, followed by f.  It looks at `channels` maps of height x width and gives
/// `outputs` maps of out_height x out_width; other data have one pixel.
///
/// Parameters from `first` on: W [outputs, depth], row-major, then b [outputs]; of a batch or
/// group normalisation b [outputs], then gamma [outputs].
struct Layer {
  LayerKind kind{};
  Activation f = Activation::identity;
  bool bias = true;    // of a padded convolution or a dense layer: whether b is there
  bool pools = false;  // of a convolution: gives the greatest of each 2 x 2
  std::uint32_t channels = 0, height = 1, width = 1;
  std::uint32_t outputs = 0, out_height = 1, out_width = 1;
  std::uint32_t first = 0;
  std::uint32_t depth = 0;                            // weights of one output; 0: none at all
  std::uint32_t kernel = 0, padding = 0, stride = 0;  // of windows
  std::uint32_t statistics = 0;  // of a batch normalisation: mean [outputs], variance [outputs]
  std::uint32_t from = 0;        // of a shortcut: the layer whose maps it adds
  std::uint32_t own[4] = {};     // numbers that the kind's own header gives names
  // Where a row's numbers begin in the work memory.
  std::uint32_t x = 0;                       // input; of a shortcut: what it adds
  std::uint32_t y = 0;                       // output, after f
  std::uint32_t kept = 0;                    // saved for the way back
  std::uint32_t by_y = 0;                    // dL/dz, z before f
  std::uint32_t by_x = 0;                    // dL/dz of the layer that gave x
  Activation before = Activation::identity;  // of that layer
  bool adds = false;                         // on the way back, to what a shortcut has left there

  GRADRACE_HD std::uint32_t weights() const { return outputs * depth; }
  /// Of W and b.
  GRADRACE_HD std::uint32_t learnt() const { return weights() + (bias ? outputs : 0); }
  GRADRACE_HD std::uint32_t pixels() const { return out_height * out_width; }
  /// Numbers that it looks at and gives, of one row.
  GRADRACE_HD std::uint32_t inputs() const { return channels * height * width; }
  GRADRACE_HD std::uint32_t units() const { return outputs * pixels(); }
};

/// A pixel that a layer gives, of one row and channel.
struct Pixel {
  std::uint32_t row, channel, i, j;

  GRADRACE_HD Pixel(const Layer& layer, std::uint32_t number)
      : row(number / layer.units()),
        channel(number % layer.units() / layer.pixels()),
        i(number % layer.pixels() / layer.out_width),
        j(number % layer.out_width) {}
};

/// A pixel that it looks at.
struct InputPixel {
  std::uint32_t row, number, channel, i, j;  // number: of the row's

  GRADRACE_HD InputPixel(const Layer& layer, std::uint32_t of_all)
      : row(of_all / layer.inputs()),
        number(of_all % layer.inputs()),
        channel(number / (layer.height * layer.width)),
        i(number / layer.width % layer.height),
        j(number % layer.width) {}
};

/// NaN propagates.
template <class Real>
GRADRACE_HD Real activated(Activation f, Real z) {
  if (f == Activation::tanh) return std::tanh(z);
  return f == Activation::relu && z < 0 ? Real{0} : z;
}

/// f'(z), from y = f(z).
template <class Real>
GRADRACE_HD Real slope(Activation f, Real y) {
  if (f == Activation::tanh) return 1 - y * y;
  return f == Activation::relu && !(y > 0) ? Real{0} : Real{1};
}

}  // namespace gradrace::kernels
