#include <cmath>

#include "sim/cli/scenario/network/network.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "nodes",
    .definition =
        "Learners without a server, `per_node` to a node, numbered node by node.  Inside a node "
        "each has a link of its own each way; messages to other nodes pass the node's network "
        "card, which has one each way.  An exchange takes the largest latency and the smallest "
        "bandwidth on its way.\n\n"
        "With `shared`, exchanges that pass the same card in the same direction at once divide its "
        "bandwidth equally among their messages, and each goes at the smallest share on its way.  "
        "A "
        "ring passes a card with one message at a time, halving-doubling and a tree with as many "
        "as "
        "one of their steps sends; an exchange whose own messages share a card takes longer for "
        "it.  Without `shared`, each exchange takes its time alone, whatever else is under way.",
    .source = "the alpha-beta model of messages, with processor sharing",
    .example =
        R"({"topology": "nodes", "per_node": 4, "inside": {"latency": 1e-5, "bandwidth": 1e10}, "between": {"latency": 1e-4, "bandwidth": 1e9}, "model_bytes": 1e8})",
};

bool takes_time(const Link& link) { return link.latency > 0 || !std::isinf(link.bandwidth); }

ClusterNetwork read(Fields& fields) {
  PeerNetwork network;
  network.per_node = 1;
  fields.integer("per_node", network.per_node, Need::required, at_least(1),
                 "learners in a node; the last may have fewer");
  if (fields.open("inside", Need::none, "a learner's link inside its node (default: no time)")) {
    visit_link(fields, network.inside);
    fields.close();
  }
  if (fields.open("between", Need::required, "a node's network card")) {
    visit_link(fields, network.between);
    fields.close();
  }
  fields.flag("shared", network.shared, Need::defaulted,
              "exchanges that pass a network card at once divide its bandwidth");
  visit_exchanges(fields, network);
  fields.idle("inside", network.per_node == 1 && takes_time(network.inside),
              "says nothing where a node has one learner", "per_node from 2 on");
  fields.idle("shared", !network.shared && std::isinf(network.between.bandwidth),
              "says nothing where the network card has no bandwidth",
              "between.bandwidth beside it");
  const auto check = [&](std::string_view key, const Link& link) {
    if (std::isinf(link.bandwidth)) return;
    check_transfer(fields, key, network.model_bytes / link.bandwidth);
  };
  if (fields.good()) {
    check("inside.bandwidth", network.inside);
    check("between.bandwidth", network.between);
  }
  return {.peers = network};
}

}  // namespace

extern const TopologyEntry nodes_entry{page, read};

}  // namespace gradrace
