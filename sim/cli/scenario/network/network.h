#pragma once

#include <optional>

#include "sim/catalog.h"
#include "sim/engine/transit.h"
#include "sim/peer_network.h"

namespace gradrace {

/// What a scenario says of the ways between its machines: one of the two.
struct ClusterNetwork {
  std::optional<ServerLinks> server;
  std::optional<PeerNetwork> peers;
};

using TopologyEntry = Entry<ClusterNetwork>;
using TopologyCatalog = Catalog<ClusterNetwork>;
const TopologyCatalog& topology_catalog();

/// `time` of a transfer of model_bytes alone on a link, whose bandwidth has that key.
void check_transfer(Fields& fields, std::string_view key, double time);

/// Latency and bandwidth of a link in the open object.
void visit_link(Fields& fields, Link& link);

/// The keys that networks of peers have in common, of which the links are read.
void visit_exchanges(Fields& fields, PeerNetwork& network);

}  // namespace gradrace
