#pragma once

#include "distributions/catalog.h"

namespace gradrace {

/// The law of the largest of n independent draws, n >= 1.
DistributionProduct largest(DistributionProduct law, std::uint32_t n);

}  // namespace gradrace
