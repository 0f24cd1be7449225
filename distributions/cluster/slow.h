#pragma once

#include <cstdint>
#include <vector>

#include "sim/reading/fields.h"

namespace gradrace {

/// Visits the key `slow`, learners whose minibatches take `factor` times as long, and divides their
/// speeds by it; learner l has speeds[l mod size].  Whether the key is there.
bool visit_slow(Fields& fields, std::vector<double>& speeds, std::uint32_t learners);

}  // namespace gradrace
