#pragma once

#include "sim/cli/scenario/point.h"

namespace gradrace {

/// About how much a run of the point computes: rows that gradients and evaluations pass through the
/// model, times the numbers of a value; events without a model, where these are not looked at.
/// Infinity where only the loss ends it.
double run_work(const Point& point, const Race& race, const Theory& theory, std::size_t numbers);

/// After so many gradients of such a value a core has computed for seconds at the most, and a call
/// can be interrupted.
std::uint32_t segment_limit(const Race& race, std::size_t numbers);

}  // namespace gradrace
