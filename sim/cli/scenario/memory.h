#pragma once

#include "sim/cli/scenario/point.h"

namespace gradrace {

/// Refuses runs whose learners have values of their own, side by side in so many threads, if
/// these and what the optimiser keeps of each take more than the machine's memory.  What else runs
/// keep comes on top.  value: of the point's model.  std::runtime_error says how much they take.
void check_memory(const Point& point, const Race& race, const ValueLayout& value,
                  std::size_t threads);

}  // namespace gradrace
