#pragma once

#include "sim/cli/scenario/point.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// The key `sampler` of a scenario.
void visit_sampler(Fields& fields, Sampler& sampler);

/// Complains of every key whose effect order statistics do not have.
void check_sampler(Fields& fields, const Point& point);

}  // namespace gradrace
