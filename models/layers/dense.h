#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/layers/network_spec.h"

namespace gradrace {

/// y = x W^T + b of n rows at once, x as numbers beside each other.  Parameters: W [outputs,
/// inputs], row-major, then b [outputs].
LayerSpec dense(const ImageShape& x, std::size_t outputs, double sd);

/// Adds hidden layers y = f(W x + b) of those widths, then the scores, without f.
void add_dense_layers(NetworkSpec& network, std::span<const std::uint64_t> widths, Activation f,
                      std::size_t outputs);

}  // namespace gradrace
