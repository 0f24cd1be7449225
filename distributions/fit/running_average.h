#pragma once

#include "distributions/fit/trace.h"

namespace gradrace {

/// Whether times look like averages of those so far: each is near the one before (a rank
/// correlation of 0.7 or more), and how near goes with how many there are: their relative changes
/// become smaller, or large ones stand together, as where averages begin again.  A learner's first
/// 2,000 times count.
bool are_running_averages(const Trace& trace);

}  // namespace gradrace
