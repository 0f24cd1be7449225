#pragma once

#include "distributions/catalog.h"

namespace gradrace {

/// The law of (shift + X) / speed, X of the law; shift >= 0, speed > 0.
DistributionProduct shifted(DistributionProduct law, double shift, double speed);

}  // namespace gradrace
