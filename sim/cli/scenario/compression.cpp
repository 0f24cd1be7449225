#include "sim/cli/scenario/compression.h"

#include "compression/catalog.h"
#include "protocols/catalog.h"

namespace gradrace {

/// What does not add is gathered around a ring.
static void check_collective(Fields& fields, const Point& point) {
  const auto& peers = point.cluster.peers;
  const bool adds = point.first_plan.message.compressor->adds();
  if (peers && !adds && peers->collective != Collective::ring)
    fields.complain("cluster.network.collective",
                    "adds what learners send, and these messages cannot be added: a ring carries "
                    "each to all",
                    "ring");
}

void visit_compression(Fields& fields, Point& point) {
  read_kind(
      fields, "compression", compression_catalog(), point.first_plan.message, Need::none,
      "what learners make of gradients before they send them: fewer bytes, from which whoever "
      "gets them reads other numbers (default: gradients themselves)");
}

void check_compression(Fields& fields, const Point& point) {
  if (!point.with_compression() || !point.make_protocol) return;
  const auto sends = [](const AnyProtocol& protocol) {
    return protocol.has_server() || protocol->traits().sends_gradients;
  };
  const auto protocol = point.make_protocol();
  if (!sends(protocol))
    fields.complain("compression", "is of gradients, and learners send models by this protocol",
                    "without it; or " + protocols_with(sends));
  check_collective(fields, point);
  if (point.with_model() && point.device == "cuda")
    fields.complain("compression", "is made by the CPU alone, and the device is cuda",
                    "without it; or device: cpu");
  const auto& network = point.cluster.transit.network;
  const bool carried = protocol.has_server()
                           ? network && network->bandwidth.has_value()
                           : point.cluster.peers && point.cluster.peers->model_bytes > 0;
  fields.idle("compression", !point.with_model() && !carried,
              "says nothing where nothing is trained and bytes take no time",
              "a model, or cluster.network with bandwidth and model_bytes");
}

}  // namespace gradrace
