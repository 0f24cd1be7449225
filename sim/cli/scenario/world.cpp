#include "sim/cli/scenario/world.h"

#include <memory>
#include <string>

#include "sim/peer_protocol.h"

namespace gradrace {

namespace {

/// There is a server, and one value.
void check_server(Fields& fields, const Point& point) {
  if (point.cluster.peers)
    fields.complain("cluster.network.topology", "is for protocols without a server", "star");
  if (point.evaluated != EvaluatedValue::mean) {
    fields.complain("record.evaluate",
                    "is for protocols without a server, whose learners have values of their own",
                    "mean");
  }
}

void examine_collectives(Fields& fields, const PeerNetwork& network, bool has_collectives) {
  const PeerNetwork usual;
  const auto examine = [&](const std::string& key, bool is_usual) {
    fields.idle("cluster.network." + key, !has_collectives && !is_usual,
                "is of collectives, and the protocol has none: learners exchange with neighbours",
                "without it; or all-reduce, local-sgd, dasgd, ripples, partial-reduce");
  };
  examine("collective", network.collective == usual.collective);
  examine("communicator_setup", network.communicator_setup == usual.communicator_setup);
  examine("communicators", network.communicators == usual.communicators);
}

void check_peers(Fields& fields, const Point& point, const PeerProtocol& protocol) {
  const TransitFacts& transit = point.cluster.transit;
  constexpr std::string_view of_server = "is for protocols of a server, and this one has none";
  constexpr std::string_view or_server = "without it; or a protocol of a server";
  if (transit.network) {
    fields.complain("cluster.network.topology", "star is for protocols of a server", "mesh, nodes");
  }
  if (transit.server)
    fields.complain("cluster.server", std::string(of_server), std::string(or_server));
  if (transit.failures)
    fields.complain("cluster.failures", std::string(of_server), std::string(or_server));
  const std::uint32_t least = protocol.least_learners(), learners = point.cluster.learners;
  if (learners < least) {
    fields.complain("cluster.learners",
                    "must be >= " + std::to_string(least) +
                        " for this protocol, whose learners exchange in pairs, got " +
                        std::to_string(learners));
  }
  if (point.cluster.peers)
    examine_collectives(fields, *point.cluster.peers, protocol.uses_collectives());
  fields.idle("theory.gamma", true, "is for stale gradients of one model, that of a server",
              std::string(or_server));
}

}  // namespace

void check_world(Fields& fields, const Point& point) {
  if (!point.make_protocol) return;
  const auto protocol = point.make_protocol();
  const auto* const peers = dynamic_cast<const PeerProtocol*>(protocol.get());
  if (peers) return check_peers(fields, point, *peers);
  check_server(fields, point);
  fields.idle("theory.gamma", false, "");
}

}  // namespace gradrace
