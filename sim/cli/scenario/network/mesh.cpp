#include "sim/cli/scenario/network/network.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "mesh",
    .definition =
        "Learners without a server, each with a link of its own each way.  A message of S bytes "
        "takes latency + S / bandwidth, the latency first.",
    .source = "the alpha-beta model of messages",
    .example =
        R"({"topology": "mesh", "latency": 0.001, "bandwidth": 1e9, "model_bytes": 1e8, "collective": "ring"})",
};

ClusterNetwork read(Fields& fields) {
  PeerNetwork network;
  visit_link(fields, network.inside);
  visit_exchanges(fields, network);
  if (fields.good() && fields.has("bandwidth"))
    check_transfer(fields, "bandwidth", network.model_bytes / network.inside.bandwidth);
  return {.peers = network};
}

}  // namespace

extern const TopologyEntry mesh_entry{page, read};

}  // namespace gradrace
