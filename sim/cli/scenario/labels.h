#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Names the points by what tells them apart, each on one line and no two alike: the protocol as
/// the file says it, without defaults and, where several of its kind are compared, without what
/// these share; then the other swept values, without what those share.  "k-async k=4",
/// "async learners=16", "local-sgd outer eta=0.7".  Points that would be named alike get their
/// numbers.  protocols: that of each point.
void name_points(Scenario& scenario, const std::vector<nlohmann::ordered_json>& protocols);

}  // namespace gradrace
