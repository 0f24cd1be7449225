#pragma once

#include <cstddef>

#include "models/layers/network_spec.h"

namespace gradrace {

/// y = the greatest of each 2 x 2 of the convolution W * x, plus b: with images x [channels,
/// height, width],
///
///     z[o, i, j] = sum_{c, k, l} W[o, c, k, l] x[c, i + k, j + l]      (no padding)
///     y[o, i, j] = max of z[o, 2i + {0, 1}, 2j + {0, 1}] + b[o]
///
/// The first in reading order wins ties; an odd last row or column of z is left out.  Parameters: W
/// [outputs, channels, kernel, kernel], then b [outputs].  std::runtime_error where nothing is left
/// of the images.
LayerSpec convolution(const ImageShape& images, std::size_t outputs, std::size_t kernel, double sd);

}  // namespace gradrace
