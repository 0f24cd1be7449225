#pragma once

#include "models/layers/network_spec.h"

namespace gradrace {

/// Local response normalisation within each channel:
///
///     y[c, i, j] = x[c, i, j] s^-beta,  s = 1 + alpha / 9 sum of x[c, i - 1 ... i + 1, j - 1 ... j
///                  + 1]^2
///
/// over what there is of those pixels (always divided by 9), alpha = 5e-5, beta = 3/4.  Source:
/// Krizhevsky, cuda-convnet, 2011; Caffe's layer LRN with WITHIN_CHANNEL, local_size 3, and the
/// constants of its CIFAR-10 examples.
LayerSpec response_normalisation(const ImageShape& images);

}  // namespace gradrace
