#pragma once

#include <cstdint>

#include "distributions/cluster_runtimes.h"
#include "sim/fields.h"
#include "sim/transit.h"

namespace gradrace {

/// What a scenario says of its machines.
struct Cluster {
  std::uint32_t learners = 1 << 24;  // P; the most until it is read
  ClusterRuntimes runtimes;
  TransitFacts transit;
};

/// The key `cluster` of a scenario.
void visit_cluster(Fields& fields, Cluster& cluster);

}  // namespace gradrace
