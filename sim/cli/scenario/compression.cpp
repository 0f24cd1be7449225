#include "sim/cli/scenario/compression.h"

#include "compression/catalog.h"
#include "protocols/catalog.h"

namespace gradrace {

void visit_compression(Fields& fields, Point& point) {
  read_kind(fields, "compression", compression_catalog(), point.first_plan.message, Need::none,
            "what learners make of gradients before they push them: fewer bytes, from which the "
            "server reads other numbers (default: gradients themselves)");
}

void check_compression(Fields& fields, const Point& point) {
  if (!point.with_compression() || !point.make_protocol) return;
  const auto has_server = [](const AnyProtocol& protocol) { return protocol.has_server(); };
  if (!has_server(point.make_protocol()))
    fields.complain("compression", "is of gradients that are pushed to a server, and there is none",
                    "without it; or " + protocols_with(has_server));
  if (point.with_model() && point.device == "cuda")
    fields.complain("compression", "is made by the CPU alone, and the device is cuda",
                    "without it; or device: cpu");
  const auto& network = point.cluster.transit.network;
  fields.idle("compression", !point.with_model() && !(network && network->bandwidth),
              "says nothing where nothing is trained and bytes take no time",
              "a model, or cluster.network.bandwidth");
}

}  // namespace gradrace
