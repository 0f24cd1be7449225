#pragma once

#include "sim/cli/scenario/point.h"

namespace gradrace {

/// About how much a run of the point computes: rows that gradients and evaluations pass through the
/// model, times its parameters; events without a model.  Infinity where only the loss ends it.
/// Reads the data.
double run_work(const Point& point, const Race& race, const Theory& theory);

}  // namespace gradrace
