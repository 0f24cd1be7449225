#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "sim/cli/scenario/network/network.h"
#include "sim/ring_order.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "regions",
    .definition =
        "Learners without a server, `per_region` to a region, numbered region by region.  "
        "`regions` is the matrix of links, a row for each region that a message leaves, with the "
        "bandwidth and latency to each region in turn, its own too.  A message of S bytes takes "
        "latency + S / bandwidth of its link, which each learner has of its own to each other.  An "
        "exchange takes the largest latency and the smallest bandwidth on its way.\n\n"
        "`ring` is the order in which rings go through the learners; a group goes in the order of "
        "all, without those who are not in it.  With best it is the order in which a step of S / P "
        "bytes, by the largest latency and the smallest bandwidth, takes the least: to 10 learners "
        "the best of all orders; for more learners the best of those that go through region by "
        "region, to 10 regions, and beyond that from each region to the one of those left to which "
        "a message takes the least.",
    .source = "the alpha-beta model of messages",
    .example =
        R"({"topology": "regions", "per_region": 4, "regions": [{"bandwidth": [1e10, 1e8], "latency": [0, 0.02]}, {"bandwidth": [2e8, 1e10], "latency": [0.02, 0]}], "model_bytes": 1e8})",
};

constexpr std::array<std::string_view, 2> orders{"numbers", "best"};

/// The links that leave a region, to each of so many.
std::vector<Link> visit_row(Fields& fields, std::size_t regions) {
  std::vector<double> bandwidths, latencies{0};
  fields.reals("bandwidth", bandwidths, Need::none, positive(),
               "to each region, bytes per unit of time; one number: to all (default: no limit)");
  fields.reals("latency", latencies, Need::defaulted, at_least(0),
               "to each region, of a message before its bytes flow; one number: to all");
  const auto examine = [&](std::string_view key, const std::vector<double>& numbers) {
    if (!fields.has(key) || numbers.size() == regions || fields.is(key, Form::number)) return;
    fields.complain(key,
                    "has " + std::to_string(numbers.size()) + " numbers, and there are " +
                        std::to_string(regions) + " rows: the matrix must be square",
                    "a number for each region, or one for all");
  };
  examine("bandwidth", bandwidths);
  examine("latency", latencies);
  std::vector<Link> row(regions);
  if (!fields.good()) return row;
  for (std::size_t to = 0; to < regions; ++to) {
    row[to].latency = latencies[to % latencies.size()];
    if (!bandwidths.empty()) row[to].bandwidth = bandwidths[to % bandwidths.size()];
  }
  return row;
}

void visit_regions(Fields& fields, PeerNetwork& network) {
  const std::size_t regions =
      fields.open_list("regions", Need::required, "the links that leave each region");
  if (regions == 0 && fields.is("regions", Form::list))
    fields.complain("regions", "must be at least one");
  for (std::size_t from = 0; from < regions; ++from) {
    fields.open_item(from);
    network.regions.push_back(visit_row(fields, regions));
    fields.close();
  }
  if (regions > 0) fields.close();
}

void visit_ring(Fields& fields, Ring& ring) {
  std::string word(orders.front());
  if (fields.is("ring", Form::number)) {
    fields.choice("ring", word, orders, Need::defaulted,
                  "in which order a ring goes through the learners");
    ring.best = word == orders[1];
  }
  if (!fields.is("ring", Form::list)) return;
  fields.integers("ring", ring.order, Need::none, at_least(0), "the same: their numbers");
  if (ring.order.empty())
    fields.complain("ring", "names nobody", "each learner's number once, \"numbers\", \"best\"");
}

void check_transfers(Fields& fields, const PeerNetwork& network) {
  for (std::size_t from = 0; from < network.regions.size(); ++from) {
    for (const Link& link : network.regions[from]) {
      if (std::isinf(link.bandwidth)) continue;
      check_transfer(fields, "regions." + std::to_string(from) + ".bandwidth",
                     network.model_bytes / link.bandwidth);
    }
  }
}

ClusterNetwork read(Fields& fields) {
  PeerNetwork network;
  Ring ring;
  network.per_node = 1;
  fields.integer("per_region", network.per_node, Need::required, at_least(1),
                 "learners in a region; the last may have fewer");
  visit_regions(fields, network);
  visit_ring(fields, ring);
  visit_exchanges(fields, network);
  fields.idle("ring", (ring.best || !ring.order.empty()) && network.collective != Collective::ring,
              "says nothing where collectives go through no ring", "collective ring beside it");
  if (fields.good()) check_transfers(fields, network);
  return {.peers = network, .ring = ring};
}

/// Of all orders the best has the fastest links among those whose latencies are no larger than
/// some link's.
std::vector<std::uint32_t> best_ring(std::uint32_t places, const RingCost& latency,
                                     const RingCost& transfer) {
  if (places > most_exact_ring)
    return fastest_ring(places, [&](std::uint32_t from, std::uint32_t to) {
      return latency(from, to) + transfer(from, to);
    });
  std::set<double> latencies;
  for (std::uint32_t from = 0; from < places; ++from)
    for (std::uint32_t to = 0; to < places; ++to)
      if (from != to || places == 1) latencies.insert(latency(from, to));
  std::vector<std::uint32_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (const double most : latencies) {
    if (most >= least) break;
    const auto order = fastest_ring(places, [&](std::uint32_t from, std::uint32_t to) {
      return latency(from, to) <= most ? transfer(from, to) : HUGE_VAL;
    });
    const double takes = slowest_link(order, latency) + slowest_link(order, transfer);
    if (best.empty() || takes < least) best = order, least = takes;
  }
  return best;
}

std::vector<std::uint64_t> best_order(const PeerNetwork& network, std::uint32_t learners) {
  const bool each = learners <= most_exact_ring;
  const std::uint32_t block = each ? 1 : network.per_node;
  const double bytes = network.model_bytes / learners;
  double latency = 0, transfer = 0;  // of the slowest links inside blocks
  for (std::uint32_t first = 0; block > 1 && first + 1 < learners; first += block) {
    const Link& inside = network.link(first, first + 1);
    latency = std::max(latency, inside.latency);
    transfer = std::max(transfer, bytes / inside.bandwidth);
  }
  const auto link = [&](std::uint32_t from, std::uint32_t to) -> const Link& {
    return network.link(from * block, to * block);
  };
  std::vector<std::uint64_t> order;
  for (const std::uint32_t place : best_ring((learners + block - 1) / block,
                                             [&](std::uint32_t from, std::uint32_t to) {
                                               return std::max(latency, link(from, to).latency);
                                             },
                                             [&](std::uint32_t from, std::uint32_t to) {
                                               return std::max(transfer,
                                                               bytes / link(from, to).bandwidth);
                                             })) {
    for (std::uint32_t l = place * block; l < std::min((place + 1) * block, learners); ++l)
      order.push_back(l);
  }
  return order;
}

void place(Fields& fields, PeerNetwork& network, Ring ring, std::uint32_t learners) {
  const double room = static_cast<double>(network.regions.size()) * network.per_node;
  if (learners > room) {
    return fields.complain("network.regions",
                           "have room for " + std::to_string(static_cast<std::uint64_t>(room)) +
                               " learners, and there are " + std::to_string(learners) +
                               " (cluster.learners)",
                           "more rows, or a larger per_region");
  }
  if (ring.best) ring.order = best_order(network, learners);
  if (ring.order.empty()) return;
  std::vector<std::uint64_t> numbers = ring.order;
  std::ranges::sort(numbers);
  bool all = numbers.size() == learners;
  for (std::size_t l = 0; all && l < numbers.size(); ++l) all = numbers[l] == l;
  if (!all) {
    return fields.complain(
        "network.ring", "does not go through each learner once",
        "each number from 0 to " + std::to_string(learners - 1) + " once, \"numbers\", \"best\"");
  }
  network.ring.resize(learners);
  for (std::uint32_t place = 0; place < learners; ++place) network.ring[ring.order[place]] = place;
}

}  // namespace

void place_in_ring(Fields& fields, ClusterNetwork& network, std::uint32_t learners) {
  if (fields.good() && network.peers && !network.peers->regions.empty())
    place(fields, *network.peers, std::move(network.ring), learners);
}

extern const TopologyEntry regions_entry{page, read};

}  // namespace gradrace
