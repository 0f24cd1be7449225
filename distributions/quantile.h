#pragma once

#include "sim/distribution.h"

namespace gradrace {

/// The smallest x with P(X <= x) >= p, 0 < p < 1, found from survival() between two places of
/// which is known that low <= x <= high.  Exact at a jump of the law.
double quantile_between(const Distribution& law, double p, double low, double high);

}  // namespace gradrace
