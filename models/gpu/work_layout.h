#pragma once

#include <cstdint>
#include <span>

#include "models/layers/base/layer.h"

namespace gradrace {

/// Gives the layers of a network their places in the work memory: what each gives and keeps, and
/// the derivatives, which share the places of those that are no longer needed.  Returns the numbers
/// of a row, behind which is what the first one looks at.
///
/// Places begin at multiples of four.  A shortcut stands in the place of the map before it.  The
/// derivative by the scores stands in theirs.
std::uint32_t lay_out(std::span<kernels::Layer> layers);

}  // namespace gradrace
