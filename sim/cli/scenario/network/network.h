#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "sim/catalog.h"
#include "sim/engine/transit.h"
#include "sim/peer_network.h"

namespace gradrace {

/// In which order rings go through the learners; neither: by number.
struct Ring {
  bool best = false;
  std::vector<std::uint64_t> order = {};
};

/// What a scenario says of the ways between its machines: one of the two.
struct ClusterNetwork {
  std::optional<ServerLinks> server = {};
  bool cards_apart = false;  // said each way apart
  std::optional<PeerNetwork> peers = {};
  Ring ring = {};
};

using TopologyEntry = Entry<ClusterNetwork>;
using TopologyCatalog = Catalog<ClusterNetwork>;
const TopologyCatalog& topology_catalog();

/// `time` of a transfer of model_bytes alone on a link, whose bandwidth has that key.
void check_transfer(Fields& fields, std::string_view key, double time);

/// Latency and bandwidth of a link in the open object.
void visit_link(Fields& fields, Link& link);

/// Where there are regions: the learners' places in rings.  At the keys of the cluster it complains
/// of learners without a region and of an order that lacks some.
void place_in_ring(Fields& fields, ClusterNetwork& network, std::uint32_t learners);

/// The key `layers` in the open network, whose model_bytes follow from them.
void visit_layers(Fields& fields, std::shared_ptr<const Layers>& layers, double& model_bytes,
                  std::string_view meaning, bool may_divide);

/// The keys that networks of peers have in common, of which the links are read.
void visit_exchanges(Fields& fields, PeerNetwork& network);

}  // namespace gradrace
