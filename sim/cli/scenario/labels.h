#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// The protocol of a point: all of it, and what a label tells of it where nothing else of its kind
/// is compared.
struct ProtocolText {
  nlohmann::ordered_json whole, told;  // the latter is null where it is all of it
};

/// Names the points by what tells them apart, each on one line and no two alike: the protocol as it
/// is told or, where several of its kind are compared, all of it without what these share; then the
/// other swept values, without what those share and without those that the others imply, as where
/// lists walk in parallel.  "k-async k=4", "async learners=16",
/// "local-sgd outer eta=0.7".  Points that would be named alike get their numbers.  protocols: that
/// of each point.
void name_points(Scenario& scenario, const std::vector<ProtocolText>& protocols);

}  // namespace gradrace
