#pragma once

#include "sim/cli/scenario/point.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// Complains about keys of a server without one, of learners without a server where there is one,
/// and of exchanges that the protocol does not make.
void check_world(Fields& fields, const Point& point);

/// Complains where shards of a server cannot have a version each.  Once the learning rate is read.
void check_versions(Fields& fields, const Point& point);

}  // namespace gradrace
