#pragma once

#include "sim/cli/scenario/point.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// The key `compression` of a scenario, of which the point's first plan gets the messages.
void visit_compression(Fields& fields, Point& point);

/// Whether the messages are made and carried where all else is as the point says.
void check_compression(Fields& fields, const Point& point);
/// The same of what goes by the learning rate, when that is read.
void check_codes(Fields& fields, const Point& point);

}  // namespace gradrace
