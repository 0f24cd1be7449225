#include "sim/peer_network.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace gradrace {

namespace {

constexpr auto nobody = std::numeric_limits<std::uint32_t>::max();

std::uint32_t ceil_log2(std::uint32_t g) {
  return static_cast<std::uint32_t>(std::bit_width(g - 1));
}

/// Which links the messages of an exchange pass.
class Way {
 public:
  Way(const PeerNetwork& network, Transfer spent)
      : network_(network), transfer_{.nics = std::move(spent.nics)} {
    transfer_.nics.clear();
  }

  void inside() { pass(network_.inside); }
  void from(std::uint32_t one, std::uint32_t to) { pass(network_.link(one, to)); }
  void between() { pass(network_.between); }
  void nic(std::uint32_t node, std::uint32_t out, std::uint32_t in) {
    between();
    const bool limited = network_.between.bandwidth < std::numeric_limits<double>::infinity();
    if (network_.shared && limited) transfer_.nics.push_back({node, out, in});
  }

  /// With so many latencies and bytes one after another.
  Transfer transfer(double latencies, double bytes) {
    transfer_.latency *= latencies;
    transfer_.bytes = bytes;
    return std::move(transfer_);
  }

 private:
  void pass(const Link& link) {
    transfer_.latency = std::max(transfer_.latency, link.latency);
    transfer_.bandwidth = std::min(transfer_.bandwidth, link.bandwidth);
  }

  const PeerNetwork& network_;
  Transfer transfer_;
};

/// A step of a collective: whom each place sends to and whom it hears from, if anybody.
struct Partners {
  std::uint32_t to, from;
};

/// Of g places in a ring.
Partners places_on(std::uint32_t place, std::uint32_t s, std::uint32_t g) {
  return {(place + s) % g, (place + g - s) % g};
}

Partners halving_doubling(std::uint32_t place, std::uint32_t step, std::uint32_t g) {
  if (std::has_single_bit(g)) return {place ^ (1u << step), place ^ (1u << step)};
  const std::uint32_t span = 2u << step;
  return places_on(place, static_cast<std::uint32_t>((std::uint64_t{g} + span - 1) / span), g);
}

/// Of the reduction; the broadcast goes back the same way.
Partners up_the_tree(std::uint32_t place, std::uint32_t step, std::uint32_t g) {
  const std::uint64_t distance = std::uint64_t{1} << step;
  if (place & (distance - 1)) return {nobody, nobody};
  if (place & distance) return {static_cast<std::uint32_t>(place - distance), nobody};
  return {nobody, place + distance < g ? static_cast<std::uint32_t>(place + distance) : nobody};
}

/// Calls for each node with its number and the places of its members, [begin, end).
template <class Each>
void for_each_node(const PeerNetwork& network, std::span<const std::uint32_t> members, Each each) {
  const auto g = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t begin = 0, end = 0; begin < g; begin = end) {
    const std::uint32_t node = network.node(members[begin]);
    while (end < g && network.node(members[end]) == node) ++end;
    each(node, begin, end);
  }
}

template <class Step>
void add_links(Way& way, std::span<const std::uint32_t> members, std::uint32_t steps, bool both,
               Step partners) {
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t place = 0; place < members.size(); ++place) {
      const std::uint32_t to = partners(place, step).to;
      if (to == nobody) continue;
      way.from(members[place], members[to]);
      if (both) way.from(members[to], members[place]);
    }
  }
}

/// `partners(place, step)`, which goes `both` ways: once more with senders and receivers exchanged.
template <class Step>
void add_steps(Way& way, const PeerNetwork& network, std::span<const std::uint32_t> members,
               std::uint32_t steps, bool both, Step partners) {
  if (!network.regions.empty()) return add_links(way, members, steps, both, partners);
  for_each_node(network, members, [&](std::uint32_t node, std::uint32_t begin, std::uint32_t end) {
    std::uint32_t most_out = 0, most_in = 0;
    bool inside = false;
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::uint32_t out = 0, in = 0;
      for (std::uint32_t place = begin; place < end; ++place) {
        const auto [to, from] = partners(place, step);
        const auto away = [&](std::uint32_t other) { return other < begin || other >= end; };
        inside = inside || !away(to) || !away(from);
        out += to != nobody && away(to);
        in += from != nobody && away(from);
      }
      most_out = std::max(most_out, out);
      most_in = std::max(most_in, in);
    }
    if (inside) way.inside();
    if (both) most_out = most_in = std::max(most_out, most_in);
    if (most_out + most_in > 0) way.nic(node, most_out, most_in);
  });
}

}  // namespace

static Transfer moved(const PeerNetwork& network, std::span<const std::uint32_t> members,
                      double bytes, Transfer spent) {
  const auto g = static_cast<std::uint32_t>(members.size());
  const bool one_node =
      network.regions.empty() && network.node(members.front()) == network.node(members.back());
  Way way(network, std::move(spent));
  if (one_node) way.inside();
  const std::uint32_t steps = ceil_log2(g);
  const double part = 2 * (g - 1.0) / g * bytes;
  switch (network.collective) {
    case Collective::ring:
    case Collective::gather:
      if (!one_node) {
        add_steps(way, network, members, 1, false,
                  [g](std::uint32_t place, std::uint32_t) { return places_on(place, 1, g); });
      }
      if (network.collective == Collective::gather) return way.transfer(g - 1.0, (g - 1.0) * bytes);
      return way.transfer(2 * (g - 1.0), part);
    case Collective::halving_doubling:
      if (!one_node) {
        add_steps(way, network, members, steps, false, [g](std::uint32_t place, std::uint32_t k) {
          return halving_doubling(place, k, g);
        });
      }
      return way.transfer(2.0 * steps, part);
    case Collective::tree:
      if (!one_node) {
        add_steps(way, network, members, steps, true,
                  [g](std::uint32_t place, std::uint32_t k) { return up_the_tree(place, k, g); });
      }
      return way.transfer(2.0 * steps, 2.0 * steps * bytes);
    case Collective::server:
      if (!network.regions.empty()) {
        add_links(way, members, 1, true, [](std::uint32_t place, std::uint32_t) {
          return Partners{place > 0 ? 0 : nobody, nobody};
        });
      } else if (!one_node) {
        way.inside();
        for_each_node(network, members, [&](std::uint32_t node, std::uint32_t, std::uint32_t) {
          way.nic(node, 1, 1);
        });
      }
      return way.transfer(2, 2.0 * g * bytes);
  }
  return {};
}

Transfer collective_transfer(const PeerNetwork& network, std::span<const std::uint32_t> members,
                             double bytes, Transfer spent) {
  if (members.size() < 2) return {};
  std::vector<std::uint32_t> in_order;
  if (!network.ring.empty()) {
    in_order.assign(members.begin(), members.end());
    std::ranges::sort(in_order, {}, [&](std::uint32_t learner) { return network.ring[learner]; });
    members = in_order;
  }
  Transfer transfer = moved(network, members, bytes, std::move(spent));
  transfer.latency *= network.rounds;
  const bool all = network.collective == Collective::gather;
  const double got = all ? static_cast<double>(members.size() - 1) : 1;
  transfer.coding = (network.making + network.reading * got) * bytes;
  transfer.latency += transfer.coding;
  return transfer;
}

Traffic collective_traffic(Collective collective, std::uint32_t members, std::uint32_t place,
                           double bytes) {
  const std::uint32_t g = members;
  if (g < 2) return {};
  const double part = 2 * (g - 1.0) / g * bytes;
  switch (collective) {
    case Collective::ring:
      return {part, part, 2 * (g - 1.0)};
    case Collective::halving_doubling:
      return {part, part, 2.0 * ceil_log2(g)};
    case Collective::tree: {
      std::uint32_t edges = 0;
      for (std::uint32_t step = 0; step < ceil_log2(g); ++step) {
        const auto [to, from] = up_the_tree(place, step, g);
        if (to != nobody) ++edges;
        if (from != nobody) ++edges;
      }
      return {edges * bytes, edges * bytes, static_cast<double>(edges)};
    }
    case Collective::server:
      return {bytes, bytes, 1};
    case Collective::gather:
      return {(g - 1.0) * bytes, (g - 1.0) * bytes, g - 1.0};
  }
  return {};
}

Transfer pair_transfer(const PeerNetwork& network, std::uint32_t one, std::uint32_t other,
                       double bytes, Transfer spent) {
  Way way(network, std::move(spent));
  const std::uint32_t here = network.node(one), there = network.node(other);
  if (!network.regions.empty()) {
    way.from(one, other);
    way.from(other, one);
  } else if (here == there) {
    way.inside();
  } else {
    way.nic(here, 1, 1);
    way.nic(there, 1, 1);
  }
  return way.transfer(1, bytes);
}

Transfer neighbour_transfer(const PeerNetwork& network, std::uint32_t learner,
                            std::span<const std::uint32_t> hears,
                            std::span<const std::uint32_t> heard_by, double bytes, Transfer spent) {
  if (hears.empty()) return {};
  const std::uint32_t here = network.node(learner);
  const auto near = [&](std::uint32_t other) { return network.node(other) == here; };
  Way way(network, std::move(spent));
  if (!network.regions.empty()) {
    for (const std::uint32_t other : hears) way.from(other, learner);
    for (const std::uint32_t other : heard_by) way.from(learner, other);
    return way.transfer(1, static_cast<double>(hears.size()) * bytes);
  }
  if (std::ranges::any_of(hears, near) || std::ranges::any_of(heard_by, near)) way.inside();
  const bool out = !std::ranges::all_of(heard_by, near), in = !std::ranges::all_of(hears, near);
  if (out || in) way.nic(here, out, in);
  return way.transfer(1, static_cast<double>(hears.size()) * bytes);
}

Transfer coordinator_transfer(const PeerNetwork& network, std::uint32_t learner, Towards towards,
                              double bytes, Transfer spent) {
  Way way(network, std::move(spent));
  const std::uint32_t here = network.node(learner);
  const bool up = towards == Towards::coordinator;
  if (!network.regions.empty()) {
    way.from(up ? learner : 0, up ? 0 : learner);
  } else if (here == 0) {
    way.inside();
  } else {
    way.nic(here, up, !up);
    way.nic(0, !up, up);
  }
  return way.transfer(1, bytes);
}

double undisturbed(const PeerNetwork& network, const Transfer& transfer) {
  double least = transfer.bandwidth;
  for (const NicUse& use : transfer.nics)
    least = std::min(least, network.between.bandwidth / std::max(use.out, use.in));
  return transfer.latency + transfer.bytes / least;
}

Transfer half_of(Transfer collective) {
  collective.latency /= 2;
  collective.bytes /= 2;
  return collective;
}

Traffic half_of(Traffic collective) {
  return {collective.sent / 2, collective.received / 2, collective.messages / 2};
}

double collective_time(const PeerNetwork* network, std::span<const std::uint32_t> members,
                       double share) {
  if (!network) return 0;
  return undisturbed(*network,
                     collective_transfer(*network, members, share * network->model_bytes));
}

}  // namespace gradrace
