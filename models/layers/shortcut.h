#pragma once

#include <cstddef>

#include "models/layers/network_spec.h"

namespace gradrace {

/// y, which is the map before it, becomes y + x: every stride-th row and column of the maps of
/// layer number `from`, which are x, and nothing for the channels that x has not (He et al., CVPR
/// 2016, option A).  On the way back dx is added to.
LayerSpec shortcut(const ImageShape& x, const ImageShape& y, std::size_t from, std::size_t stride);

}  // namespace gradrace
