#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "distributions/cluster/cluster_runtimes.h"
#include "distributions/fit/trace.h"
#include "sim/engine/transit.h"
#include "sim/peer_network.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// What a scenario says of its machines.
struct Cluster {
  std::uint32_t learners = 1 << 24;  // P; the most until it is read
  ClusterRuntimes runtimes;
  TransitFacts transit;
  std::optional<PeerNetwork> peers;  // a network of topology mesh or nodes

  /// The laws that a learner draws from at most once for each of its minibatches.
  std::vector<DistributionProduct> laws_of(std::uint32_t learner) const;
  /// The measured times that any law is made of.
  std::vector<std::shared_ptr<const Trace>> traces() const;
};

/// The key `cluster` of a scenario.
void visit_cluster(Fields& fields, Cluster& cluster);

}  // namespace gradrace
