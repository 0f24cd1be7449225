#pragma once

#include "models/layers/network_spec.h"

namespace gradrace {

/// y [channels] = the mean of each channel of the images x.
LayerSpec pixel_mean(const ImageShape& images);

}  // namespace gradrace
