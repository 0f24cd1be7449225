// Two nodes of four learners whose groups share the nodes' network cards, beside SimGrid, which
// simulates every message of a collective:
//
//     g++ -std=c++20 -O2 -I. bench/simgrid/two_groups.cpp sim/engine/{peer_network,exchanges}.cpp
//     -lsimgrid -o two_groups
//     ./two_groups > bench/simgrid/two_groups.csv
//
// in the root of the sources, with SimGrid 3.32 (package libsimgrid-dev).  Its network model is
// CM02 (fair sharing of links, latency + bytes / bandwidth) without TCP window, factors and cross
// traffic.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/engine/exchanges.h"

namespace sg4 = simgrid::s4u;
using namespace gradrace;

struct Group {
  std::vector<std::uint32_t> members;
  double bytes, start;
};

struct Case {
  std::string name;
  Collective collective;
  double latency;  // of the cards and of the links inside
  std::vector<Group> groups;
};

static PeerNetwork network_of(const Case& one) {
  PeerNetwork network;
  network.per_node = 4;
  network.inside = {one.latency, 1e10};
  network.between = {one.latency, 1e9};
  network.collective = one.collective;
  return network;
}

/// When the groups' exchanges end.
static std::vector<double> ours(const Case& one) {
  const PeerNetwork network = network_of(one);
  EventQueue queue(16);
  Exchanges exchanges(&network, 8, queue, 8);
  for (std::uint32_t i = 0; i < one.groups.size(); ++i)
    queue.schedule(i, one.groups[i].start, EventClass::arrival);
  std::vector<double> ends(one.groups.size());
  std::vector<std::uint32_t> group_of(8);
  for (auto event = queue.next(); event.time < 1e300; event = queue.next()) {
    if (event.slot < 8) {
      queue.remove(event.slot);
      const Group& group = one.groups[event.slot];
      const Transfer transfer = collective_transfer(network, group.members, group.bytes);
      group_of[exchanges.begin(transfer, event.time)] = event.slot;
    } else if (exchanges.on_event(event.slot - 8, event.time)) {
      ends[group_of[event.slot - 8]] = event.time;
    }
  }
  return ends;
}

/// Sends to one place of the group while it receives from another.
static void send_receive(const std::string& group, std::size_t to, std::size_t from,
                         std::size_t self, double bytes) {
  static int payload = 0;
  const auto box = [&](std::size_t a, std::size_t b) {
    return sg4::Mailbox::by_name(group + ":" + std::to_string(a) + ">" + std::to_string(b));
  };
  int* received = nullptr;
  sg4::CommPtr out = box(self, to)->put_async(&payload, static_cast<std::uint64_t>(bytes));
  sg4::CommPtr in = box(from, self)->get_async(&received);
  in->wait();
  out->wait();
}

static void run_member(Collective collective, const std::string& name, const Group& group,
                       std::size_t place, double* end) {
  sg4::this_actor::sleep_until(group.start);
  const std::size_t g = group.members.size();
  if (collective == Collective::ring) {
    for (std::size_t step = 0; step < 2 * (g - 1); ++step) {
      send_receive(name, (place + 1) % g, (place + g - 1) % g, place,
                   group.bytes / static_cast<double>(g));
    }
  } else {  // recursive halving of the vector, then doubling
    double bytes = group.bytes / 2;
    for (std::size_t hop = g / 2; hop > 0; hop /= 2, bytes /= 2)
      send_receive(name, place ^ hop, place ^ hop, place, bytes);
    for (std::size_t hop = 1; hop < g; hop *= 2)
      send_receive(name, place ^ hop, place ^ hop, place, bytes *= 2);
  }
  *end = std::max(*end, sg4::Engine::get_clock());
}

static void build_platform(const Case& one) {
  const PeerNetwork network = network_of(one);
  auto* zone = sg4::create_full_zone("cluster");
  std::vector<sg4::Host*> hosts;
  std::vector<const sg4::Link*> up, down, card_up, card_down;
  // A message passes two links, each with half of its latency.
  const auto link = [&](const std::string& name, const Link& as) -> const sg4::Link* {
    return zone->create_link(name, as.bandwidth)->set_latency(as.latency / 2)->seal();
  };
  for (int i = 0; i < 8; ++i) {
    const std::string name = std::to_string(i);
    hosts.push_back(zone->create_host(name, 1e9)->seal());
    up.push_back(link("up" + name, network.inside));
    down.push_back(link("down" + name, network.inside));
  }
  for (int node = 0; node < 2; ++node) {
    card_up.push_back(link("card_up" + std::to_string(node), network.between));
    card_down.push_back(link("card_down" + std::to_string(node), network.between));
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (std::uint32_t j = 0; j < 8; ++j) {
      if (i == j) continue;
      const bool near = i / 4 == j / 4;
      const std::vector<sg4::LinkInRoute> way{sg4::LinkInRoute(near ? up[i] : card_up[i / 4]),
                                              sg4::LinkInRoute(near ? down[j] : card_down[j / 4])};
      zone->add_route(hosts[i]->get_netpoint(), hosts[j]->get_netpoint(), nullptr, nullptr, way,
                      false);
    }
  }
  zone->seal();
}

static std::vector<Case> cases() {
  const std::vector<std::uint32_t> even{0, 1, 4, 5}, odd{2, 3, 6, 7}, all{0, 1, 2, 3, 4, 5, 6, 7};
  const auto ring = Collective::ring, halving = Collective::halving_doubling;
  return {
      {"ring, one group of 8 alone", ring, 1e-4, {{all, 1e8, 0}}},
      {"ring, one group of 4 alone", ring, 1e-4, {{even, 1e8, 0}}},
      {"ring, both groups at once", ring, 1e-4, {{even, 1e8, 0}, {odd, 1e8, 0}}},
      {"ring, the second half way", ring, 1e-4, {{even, 1e8, 0}, {odd, 1e8, 0.075}}},
      {"ring, the second of half the bytes", ring, 1e-4, {{even, 1e8, 0}, {odd, 5e7, 0}}},
      {"ring, a fifth of the time alone is latency", ring, 6e-3, {{even, 1e8, 0}, {odd, 1e8, 0}}},
      {"ring, the same, the second half way", ring, 6e-3, {{even, 1e8, 0}, {odd, 1e8, 0.093}}},
      {"ring, across and inside", ring, 1e-4, {{{0, 4}, 1e8, 0}, {{1, 2, 3}, 1e8, 0}}},
      {"halving-doubling, one group of 4 alone", halving, 1e-4, {{even, 1e8, 0}}},
      {"halving-doubling, both groups at once", halving, 1e-4, {{even, 1e8, 0}, {odd, 1e8, 0}}},
      {"halving-doubling, one group of 8 alone", halving, 1e-4, {{all, 1e8, 0}}},
  };
}

/// One case a process: SimGrid simulates one platform in each.
int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  const auto all = cases();
  if (argc < 2) {
    std::printf("case,group,gradrace,simgrid,ratio\n");
    std::fflush(stdout);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string command =
          std::string(argv[0]) + " " + std::to_string(i) +
          " --cfg=network/model:CM02 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0"
          " --cfg=network/latency-factor:1 --cfg=network/bandwidth-factor:1"
          " --cfg=network/weight-S:0 --log=root.thresh:error";
      if (std::system(command.c_str()) != 0) return 1;
    }
    return 0;
  }
  const Case& one = all.at(std::stoul(argv[1]));
  build_platform(one);
  std::vector<double> theirs(one.groups.size(), 0);
  for (std::size_t k = 0; k < one.groups.size(); ++k) {
    const Group& group = one.groups[k];
    for (std::size_t place = 0; place < group.members.size(); ++place) {
      sg4::Actor::create(
          "member", sg4::Host::by_name(std::to_string(group.members[place])), [&, k, place] {
            run_member(one.collective, std::to_string(k), one.groups[k], place, &theirs[k]);
          });
    }
  }
  engine.run();
  const auto mine = ours(one);
  for (std::size_t k = 0; k < one.groups.size(); ++k) {
    const double time = mine[k] - one.groups[k].start, other = theirs[k] - one.groups[k].start;
    std::printf("\"%s\",%zu,%.6g,%.6g,%.4f\n", one.name.c_str(), k + 1, time, other, time / other);
  }
}
