#include "distributions/catalog.h"
#include "sim/cli/scenario/network/network.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "star",
    .definition =
        "Learners around a server.  A model that is pulled passes the server's outgoing link, a "
        "gradient its incoming one; the transfers under way share a link equally.  A model takes "
        "the time `pull` after its transfer, a gradient the time `push` before it.",
    .source = "processor sharing",
    .example = R"({"topology": "star", "bandwidth": 1e9, "model_bytes": 1e8})",
};

ClusterNetwork read(Fields& fields) {
  ServerLinks links;
  read_kind(fields, "pull", distribution_catalog(), links.pull, Need::none,
            "law of the time that the model takes to a learner, besides its transfer");
  read_kind(fields, "push", distribution_catalog(), links.push, Need::none,
            "law of the time that a gradient takes to the server, besides its transfer");
  fields.real(
      "bandwidth", links.bandwidth, positive(),
      "of the server's link, each way, shared by the transfers under way; bytes per unit of "
      "time (default: no limit)");
  fields.real("model_bytes", links.model_bytes, Need::none, positive(),
              "size of the model, and of a gradient");
  if (fields.has("bandwidth") != fields.has("model_bytes")) {
    fields.complain(fields.has("bandwidth") ? "bandwidth" : "model_bytes",
                    "says nothing without the other of the two", "bandwidth and model_bytes");
  } else if (fields.good() && links.bandwidth) {
    check_transfer(fields, "bandwidth", links.model_bytes / *links.bandwidth);
  }
  return {links, {}};
}

}  // namespace

extern const TopologyEntry star_entry{page, read};

}  // namespace gradrace
