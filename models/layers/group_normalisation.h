#pragma once

#include <cstddef>

#include "models/layers/network_spec.h"

namespace gradrace {

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), image by image and group by group,
/// with mean and variance of the pixels of the group's channels (the variance divides by their
/// number), in a gradient and in an evaluation alike.  A group is of channels beside each other;
/// there are as many as the greatest divisor of the channels that is at most `groups`.  Source: Wu,
/// He, ECCV 2018.
///
/// Parameters: b [channels], then gamma [channels].
LayerSpec group_normalisation(const ImageShape& images, std::size_t groups);

}  // namespace gradrace
