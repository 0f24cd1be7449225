#pragma once

#include "distributions/catalog.h"

namespace gradrace {

/// Always that value, which is > 0.
DistributionProduct make_deterministic(double value);

}  // namespace gradrace
