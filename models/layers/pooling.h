#pragma once

#include "models/layers/network_spec.h"

namespace gradrace {

/// y[c, i, j] = the greatest, or the mean, of what there is of x[c, 2i ... 2i + 2, 2j ... 2j + 2].
/// As in Caffe the last window may reach over the edge, so that of a length of n there are
/// ceil((n - 3) / 2) + 1; a mean divides by the pixels that there are.  Of equal numbers the first
/// in reading order is the greatest.  std::runtime_error where nothing is left of the images.
LayerSpec greatest_pooling(const ImageShape& images);
LayerSpec mean_pooling(const ImageShape& images);

}  // namespace gradrace
