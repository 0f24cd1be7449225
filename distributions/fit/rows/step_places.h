#pragma once

#include <vector>

#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// [row] By the columns of step and epoch.  A new pass begins where a learner's step goes back and
/// comes again with the same texts in the other columns, as in a new epoch or where a job goes on
/// from a checkpoint; not where the parts of steps are written one after the other, nor among rows
/// in any order, of which the step goes back at more than a quarter.
std::vector<StepPlace> step_places(const Table& table, const TraceColumns& columns);

}  // namespace gradrace
