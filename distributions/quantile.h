#pragma once

#include "sim/distribution.h"

namespace gradrace {

/// The smallest x with P(X > x) <= q, 0 < q < 1, found from survival() between two places of which
/// is known that low <= x <= high.  Exact at a jump of the law.
double inverse_survival_between(const Distribution& law, double q, double low, double high);

}  // namespace gradrace
