#pragma once

#include <cstddef>

#include "models/cpu/kernels/convolution_kernels.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// sums [channels] over the pixels of each channel in all rows.
template <class Real>
void sum_maps(const Units<Real>& maps, std::size_t channels, Real* sums) {
  kernels::convolution_kernels<Real>().map_sums(
      maps.data(), channels, static_cast<std::size_t>(maps.size()) / channels, sums);
}

}  // namespace gradrace
