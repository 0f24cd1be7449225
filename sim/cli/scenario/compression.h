#pragma once

#include "sim/cli/scenario/scenario.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// The key `compression` of a scenario, of which the point's first plan gets the messages.
void visit_compression(Fields& fields, Point& point);

/// Whether the messages are made and carried where all else is as the point says.
void check_compression(Fields& fields, const Point& point);
/// The same of what goes by the learning rate, when that is read.
void check_codes(Fields& fields, const Point& point);
/// What is known once the data are: throws ScenarioError where more numbers of a gradient are to be
/// sent than it has.
void check_sent(const Scenario& scenario, const Point& point);

}  // namespace gradrace
