#pragma once

#include <vector>

#include "distributions/catalog.h"

namespace gradrace {

/// A draw from parts[i] with probability weights[i] / sum of weights; as many weights as parts.
DistributionProduct make_mixture(const std::vector<double>& weights,
                                 std::vector<DistributionProduct> parts);

}  // namespace gradrace
