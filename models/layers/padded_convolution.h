#pragma once

#include <cstddef>

#include "models/layers/network_spec.h"

namespace gradrace {

struct PaddedConvolution {
  std::size_t outputs, kernel, padding, stride = 1;
  bool bias = true;  // else b is left to the layer that follows
};

/// y = W * x + b with zeros around the images: with images x [channels, height, width],
///
///     y[o, i, j] = b[o] + sum_{c, k, l} W[o, c, k, l] x[c, stride i + k - padding, stride j + l -
///                  padding]
///
/// Parameters: W [outputs, channels, kernel, kernel], then b [outputs], if there is one.
LayerSpec padded_convolution(const ImageShape& images, const PaddedConvolution& shape, double sd);

}  // namespace gradrace
