#include "sim/cli/scenario/network/network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/message_text.h"

namespace gradrace {

extern const TopologyEntry star_entry, mesh_entry, nodes_entry, regions_entry;

const TopologyCatalog& topology_catalog() {
  static constexpr const TopologyEntry* entries[] = {&star_entry, &mesh_entry, &nodes_entry,
                                                     &regions_entry};
  static constexpr TopologyCatalog catalog{"networks", "topology", entries, "star", true};
  return catalog;
}

void check_transfer(Fields& fields, std::string_view key, double time) {
  constexpr double least = 1e-12, most = 1e12;
  if (time >= least && time <= most) return;
  fields.complain(key,
                  "makes a transfer of model_bytes take " + number_text(time) + " units of time",
                  number_text(least) + " to " + number_text(most));
}

void visit_link(Fields& fields, Link& link) {
  fields.real("latency", link.latency, Need::defaulted, at_least(0),
              "of a message, before its bytes flow");
  std::optional<double> bandwidth;
  fields.real("bandwidth", bandwidth, positive(),
              "each way, bytes per unit of time (default: no limit)");
  if (bandwidth) link.bandwidth = *bandwidth;
}

void visit_exchanges(Fields& fields, PeerNetwork& network) {
  // In the order of Collective.
  static constexpr std::array<std::string_view, 4> collectives{"ring", "halving-doubling", "tree",
                                                               "server"};
  fields.real(
      "model_bytes", network.model_bytes, Need::none, positive(),
      "size of the model, and of a gradient; needed where there is a bandwidth, unless layers "
      "say it");
  visit_layers(
      fields, network.layers, network.model_bytes,
      "all-reduce, local-sgd and d-psgd exchange layer by layer, while the backward pass goes on",
      true);
  std::string collective(collectives.front());
  fields.choice(
      "collective", collective, collectives, Need::defaulted,
      "how a group of g learners averages S bytes: ring takes 2 (g - 1) a + 2 (g - 1) / g "
      "S b with latency a and bandwidth 1 / b, halving-doubling 2 L a + 2 (g - 1) / g S b "
      "with L = ceil(log2 g), tree 2 L (a + S b), server 2 a + 2 g S b");
  network.collective =
      static_cast<Collective>(std::ranges::find(collectives, collective) - collectives.begin());
  fields.real("communicator_setup", network.communicator_setup, Need::defaulted, at_least(0),
              "time that a group needs before its exchange, unless it is one of those kept");
  fields.integer("communicators", network.communicators, Need::defaulted, at_least(1),
                 "groups that are kept: those used last");
  fields.idle(
      "communicators",
      network.communicator_setup == 0 && network.communicators != PeerNetwork().communicators,
      "says nothing where a group needs no setup", "communicator_setup > 0 beside it");
  if (network.model_bytes > 0 || fields.has("layers")) return;
  const auto carries = [](const Link& link) { return !std::isinf(link.bandwidth); };
  bool any = carries(network.inside) || carries(network.between);
  for (const auto& row : network.regions) any = any || std::ranges::any_of(row, carries);
  if (any) fields.complain("model_bytes", "is missing, and a bandwidth says nothing without it");
}

}  // namespace gradrace
