#include "sim/peer_network.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "sim/ring_order.h"

namespace gradrace::peer_network_test {

namespace {

using Members = std::vector<std::uint32_t>;

constexpr Collective every_collective[] = {Collective::ring, Collective::halving_doubling,
                                           Collective::tree, Collective::server};

Members first(std::uint32_t g) {
  Members members(g);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// The time of g > 1 members with latency a, bandwidth 1 / b and S bytes.
double row(Collective collective, double g, double a, double b, double S) {
  double rounds = 0;
  while (std::exp2(rounds) < g) ++rounds;
  if (collective == Collective::ring) return 2 * (g - 1) * a + 2 * (g - 1) / g * S * b;
  if (collective == Collective::halving_doubling) return 2 * rounds * a + 2 * (g - 1) / g * S * b;
  if (collective == Collective::tree) return 2 * rounds * (a + S * b);
  return 2 * a + 2 * g * S * b;
}

bool equal(double x, double y) { return std::abs(x - y) <= 1e-12 * std::abs(y); }

PeerNetwork nodes_of(std::uint32_t per_node, Link inside, Link between) {
  PeerNetwork network;
  network.per_node = per_node;
  network.inside = inside;
  network.between = between;
  return network;
}

std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> uses(const Transfer& transfer) {
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> all;
  for (const auto& use : transfer.nics) all[use.node] = {use.out, use.in};
  return all;
}

}  // namespace

TEST_CASE("peer_network: a collective alone costs its row") {
  for (const Collective collective : every_collective) {
    for (std::uint32_t g = 1; g <= 17; ++g) {
      CAPTURE(g);
      PeerNetwork mesh;
      mesh.collective = collective;
      mesh.inside = {0.3, 7};
      const double alone = collective_transfer(mesh, first(g), 11).alone();
      CHECK(equal(alone, g == 1 ? 0 : row(collective, g, 0.3, 1 / 7.0, 11)));
      for (const std::uint32_t per_node : {1u, 3u, 4u, 20u}) {
        CAPTURE(per_node);
        PeerNetwork nodes = nodes_of(per_node, {0.2, 100}, {0.5, 3});
        nodes.collective = collective;
        for (const bool shared : {true, false}) {
          nodes.shared = shared;
          const Transfer transfer = collective_transfer(nodes, first(g), 11);
          const bool one = g <= per_node;
          const double expected =
              row(collective, g, one ? 0.2 : 0.5, one ? 1 / 100.0 : 1 / 3.0, 11);
          CHECK(equal(transfer.alone(), g == 1 ? 0 : expected));
          CHECK(transfer.nics.size() == (shared && !one ? (g + per_node - 1) / per_node : 0));
        }
      }
    }
  }
}

TEST_CASE("peer_network: the slowest link is one that a message passes") {
  // Inside is the slower here, in latency and in bandwidth.
  PeerNetwork nodes = nodes_of(4, {2, 5}, {1, 50});
  for (const Collective collective : every_collective) {
    nodes.collective = collective;
    const Transfer one_each = collective_transfer(nodes, Members{0, 4, 8, 12}, 10);
    const bool at_server = collective == Collective::server;  // which is in the first node
    CHECK(equal(one_each.alone(), row(collective, 4, at_server ? 2 : 1, at_server ? .2 : .02, 10)));
    const Transfer two_each = collective_transfer(nodes, Members{0, 1, 4, 5}, 10);
    CHECK(equal(two_each.alone(), row(collective, 4, 2, .2, 10)));
  }
  // A latency from one and a bandwidth from the other.
  nodes.inside = {2, 50};
  nodes.between = {1, 5};
  nodes.collective = Collective::ring;
  CHECK(equal(collective_transfer(nodes, Members{0, 1, 4}, 10).alone(),
              row(Collective::ring, 3, 2, .2, 10)));
  // Places 1 and 2 share a node and are no partners in halving-doubling.
  nodes.collective = Collective::halving_doubling;
  CHECK(equal(collective_transfer(nodes, Members{3, 4, 5, 8}, 10).alone(),
              row(Collective::halving_doubling, 4, 1, .2, 10)));
}

TEST_CASE("peer_network: links without a limit take their latencies alone") {
  PeerNetwork nodes = nodes_of(2, {}, {1});
  CHECK(collective_transfer(nodes, first(4), 10).alone() == 6);
  CHECK(collective_transfer(nodes, first(4), 10).nics.empty());
  CHECK(collective_transfer(nodes, first(2), 10).alone() == 0);
  CHECK(pair_transfer(nodes, 0, 2, 10).alone() == 1);
  CHECK(collective_transfer(PeerNetwork{}, first(9), 0).alone() == 0);
}

TEST_CASE("peer_network: messages of a collective that pass a NIC together") {
  using Uses = std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>;
  PeerNetwork nodes = nodes_of(4, {0, 100}, {0, 10});
  const auto of = [&](Collective collective, const Members& members) {
    nodes.collective = collective;
    return uses(collective_transfer(nodes, members, 1));
  };
  CHECK(of(Collective::ring, first(8)) == Uses{{0, {1, 1}}, {1, {1, 1}}});
  CHECK(of(Collective::ring, {1, 4, 5, 6, 12}) == Uses{{0, {1, 1}}, {1, {1, 1}}, {3, {1, 1}}});
  CHECK(of(Collective::halving_doubling, first(8)) == Uses{{0, {4, 4}}, {1, {4, 4}}});
  CHECK(of(Collective::halving_doubling, {0, 1, 4, 5}) == Uses{{0, {2, 2}}, {1, {2, 2}}});
  // Five places that send 3, 2 and 1 on.
  CHECK(of(Collective::halving_doubling, {0, 1, 4, 5, 8}) ==
        Uses{{0, {2, 2}}, {1, {2, 2}}, {2, {1, 1}}});
  // 4 to 0, and back.
  CHECK(of(Collective::tree, first(8)) == Uses{{0, {1, 1}}, {1, {1, 1}}});
  CHECK(of(Collective::tree, {3, 4, 5, 8}) == Uses{{0, {1, 1}}, {1, {1, 1}}, {2, {1, 1}}});
  CHECK(of(Collective::tree, {3, 4, 8, 9, 10}) == Uses{{0, {1, 1}}, {1, {1, 1}}, {2, {1, 1}}});
  CHECK(of(Collective::server, {0, 1, 4, 5, 6}) == Uses{{0, {1, 1}}, {1, {1, 1}}});
}

TEST_CASE("peer_network: those counts are what a list of all messages gives") {
  struct Message {
    std::uint32_t step, from, to;
  };
  const auto messages = [](Collective collective, std::uint32_t g) {
    std::vector<Message> all;
    if (collective == Collective::ring) {
      for (std::uint32_t i = 0; i < g; ++i) all.push_back({0, i, i + 1 == g ? 0 : i + 1});
    } else if (collective == Collective::tree) {
      for (std::uint32_t step = 0, hop = 1; hop < g; ++step, hop *= 2) {
        for (std::uint32_t child = hop; child < g; child += 2 * hop) {
          all.push_back({2 * step, child, child - hop});
          all.push_back({2 * step + 1, child - hop, child});
        }
      }
    } else if ((g & (g - 1)) == 0) {
      for (std::uint32_t step = 0, hop = 1; hop < g; ++step, hop *= 2) {
        for (std::uint32_t i = 0; i < g; ++i) all.push_back({step, i, i & hop ? i - hop : i + hop});
      }
    } else {
      for (std::uint32_t step = 0, hop = g; hop > 1; ++step) {
        hop = (hop + 1) / 2;
        for (std::uint32_t i = 0; i < g; ++i) all.push_back({step, i, (i + hop) % g});
      }
    }
    return all;
  };
  std::mt19937 words(3);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto per_node = static_cast<std::uint32_t>(1 + words() % 5);
    PeerNetwork nodes = nodes_of(per_node, {1, 7}, {2, 5});
    Members members;
    for (std::uint32_t learner = 0; learner < 24; ++learner) {
      if (words() % 2) members.push_back(learner);
    }
    const auto g = static_cast<std::uint32_t>(members.size());
    if (g < 2) continue;
    for (const Collective collective :
         {Collective::ring, Collective::halving_doubling, Collective::tree}) {
      std::map<std::uint32_t, std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>> at;
      bool inside = false, between = false;
      for (const Message& message : messages(collective, g)) {
        const auto from = nodes.node(members[message.from]), to = nodes.node(members[message.to]);
        (from == to ? inside : between) = true;
        if (from == to) continue;
        ++at[message.step][from].first;
        ++at[message.step][to].second;
      }
      std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> most;
      for (const auto& [step, counts] : at) {
        for (const auto& [node, count] : counts) {
          most[node] = {std::max(most[node].first, count.first),
                        std::max(most[node].second, count.second)};
        }
      }
      nodes.collective = collective;
      const Transfer transfer = collective_transfer(nodes, members, 1);
      REQUIRE(uses(transfer) == most);
      REQUIRE(transfer.bandwidth == (between ? 5 : 7));
      const double latencies = row(collective, g, 1, 0, 0);
      REQUIRE(equal(transfer.latency, latencies * (between ? 2 : 1)));
      REQUIRE((inside || between));
    }
  }
}

TEST_CASE("peer_network: messages to and from a coordinator, in the first node or region") {
  PeerNetwork mesh;
  mesh.inside = {0.3, 7};
  for (const Towards towards : {Towards::coordinator, Towards::learner})
    CHECK(equal(coordinator_transfer(mesh, 5, towards, 11).alone(), 0.3 + 11 / 7.0));
  const PeerNetwork nodes = nodes_of(4, {2, 50}, {1, 5});
  for (const Towards towards : {Towards::coordinator, Towards::learner}) {
    CHECK(coordinator_transfer(nodes, 3, towards, 10).alone() == 2.2);
    CHECK(coordinator_transfer(nodes, 3, towards, 10).nics.empty());
    CHECK(coordinator_transfer(nodes, 9, towards, 10).alone() == 3);
  }
  Transfer up, down;
  up.nics = {{2, 1, 0}, {0, 0, 1}}, down.nics = {{2, 0, 1}, {0, 1, 0}};
  CHECK(uses(coordinator_transfer(nodes, 9, Towards::coordinator, 10)) == uses(up));
  CHECK(uses(coordinator_transfer(nodes, 9, Towards::learner, 10)) == uses(down));
  PeerNetwork regions;
  regions.per_node = 2;
  regions.regions = {{{1, 10}, {2, 5}}, {{3, 4}, {0, 1}}};
  CHECK(coordinator_transfer(regions, 1, Towards::coordinator, 20).alone() == 1 + 2);
  CHECK(coordinator_transfer(regions, 2, Towards::coordinator, 20).alone() == 3 + 5);
  CHECK(coordinator_transfer(regions, 2, Towards::learner, 20).alone() == 2 + 4);
}

TEST_CASE("peer_network: exchanges of pairs and of neighbours") {
  PeerNetwork mesh;
  mesh.inside = {0.3, 7};
  CHECK(equal(pair_transfer(mesh, 2, 9, 11).alone(), 0.3 + 11 / 7.0));
  CHECK(equal(neighbour_transfer(mesh, 2, Members{1, 3, 5}, Members{1, 3, 5}, 11).alone(),
              0.3 + 33 / 7.0));
  CHECK(neighbour_transfer(mesh, 2, Members{}, Members{}, 11).alone() == 0);
  const PeerNetwork nodes = nodes_of(4, {2, 50}, {1, 5});
  CHECK(pair_transfer(nodes, 1, 3, 10).alone() == 2.2);
  CHECK(pair_transfer(nodes, 1, 3, 10).nics.empty());
  CHECK(pair_transfer(nodes, 3, 4, 10).alone() == 3);
  CHECK(uses(pair_transfer(nodes, 3, 4, 10)).size() == 2);
  CHECK(neighbour_transfer(nodes, 3, Members{2, 4}, Members{2, 4}, 10).alone() == 6);
  CHECK(uses(neighbour_transfer(nodes, 3, Members{2, 4}, Members{2, 4}, 10)) == uses([] {
          Transfer own;
          own.nics.push_back({0, 1, 1});
          return own;
        }()));
  CHECK(neighbour_transfer(nodes, 2, Members{1, 3}, Members{1, 3}, 10).nics.empty());
}

// On the exponential graph learner 3 of eight hears 4, 5 and 7 and is heard by 2, 1 and 7; learner
// 1 of five hears 2, 3 and 0 and is heard by 0, 4 and 2.
TEST_CASE("peer_network: who is heard by others than it hears passes the links of both") {
  const PeerNetwork slow_inside = nodes_of(4, {2, 5}, {1, 50});
  const Members far{4, 5, 7}, mixed{1, 2, 7};
  CHECK(neighbour_transfer(slow_inside, 3, far, far, 10).alone() == doctest::Approx(1.6));
  CHECK(neighbour_transfer(slow_inside, 3, far, mixed, 10).alone() == 8);
  const PeerNetwork nodes = nodes_of(4, {2, 50}, {1, 5});
  const auto used = [&](const Members& hears, const Members& heard_by) {
    const Transfer transfer = neighbour_transfer(nodes, 1, hears, heard_by, 10);
    REQUIRE(transfer.nics.size() == 1);
    return std::pair(transfer.nics[0].out, transfer.nics[0].in);
  };
  CHECK(used({0, 2, 3}, {0, 2, 4}) == std::pair(1u, 0u));
  CHECK(used({0, 2, 4}, {0, 2, 3}) == std::pair(0u, 1u));
}

TEST_CASE("peer_network: what the members of a collective send is what they receive") {
  const double S = 12;
  for (const Collective collective : every_collective) {
    for (std::uint32_t g = 1; g <= 17; ++g) {
      CAPTURE(g);
      Traffic all;
      for (std::uint32_t place = 0; place < g; ++place) {
        const Traffic one = collective_traffic(collective, g, place, S);
        all.sent += one.sent;
        all.received += one.received;
        all.messages += one.messages;
      }
      CHECK(all.sent == all.received);
      std::uint64_t rounds = 0;
      while ((std::uint64_t{1} << rounds) < g) ++rounds;
      const std::uint64_t edges = g - 1;
      const bool parts =
          collective == Collective::ring || collective == Collective::halving_doubling;
      if (parts || collective == Collective::tree) CHECK(equal(all.sent, 2.0 * (g - 1) * S));
      if (collective == Collective::ring) CHECK(all.messages == 2 * edges * g);
      if (collective == Collective::halving_doubling) CHECK(all.messages == 2 * rounds * g);
      if (collective == Collective::tree) CHECK(all.messages == 2 * edges);
      if (collective == Collective::server && g > 1) {
        CHECK(all.sent == g * S);
        CHECK(all.messages == g);
      }
    }
  }
  const auto tree = [&](std::uint32_t place) {
    return collective_traffic(Collective::tree, 6, place, S).messages;
  };
  CHECK(tree(0) == 3);  // 1, 2, 4
  CHECK(tree(1) == 1);
  CHECK(tree(2) == 2);  // 0, 3
  CHECK(tree(4) == 2);  // 0, 5
  CHECK(neighbour_traffic(3, S).sent == 36);
  CHECK(neighbour_traffic(1, S).messages == 1);
}

// Three regions of two; of S = 12 bytes to region j from region i: latency i + 1, bandwidth below.
TEST_CASE("peer_network: links between regions, by hand") {
  PeerNetwork network;
  network.per_node = 2;
  network.regions = {
      {{1, 100}, {1, 4}, {1, 8}}, {{2, 2}, {2, 100}, {2, 16}}, {{3, 1}, {3, 32}, {3, 50}}};
  const Members all = first(6), one{2, 3}, two{1, 4};
  const auto of = [&](Collective collective, const Members& members) {
    network.collective = collective;
    return collective_transfer(network, members, 12);
  };
  // 0 1 | 2 3 | 4 5 and back: 100, 4, 100, 16, 50, 1, and the latency from region 2.
  CHECK(equal(of(Collective::ring, all).alone(), row(Collective::ring, 6, 3, 1, 12)));
  CHECK(of(Collective::ring, all).nics.empty());
  CHECK(equal(of(Collective::ring, one).alone(), row(Collective::ring, 2, 2, .01, 12)));
  CHECK(equal(of(Collective::ring, two).alone(), row(Collective::ring, 2, 3, 1, 12)));
  // The other way round: 50, 32, 100, 2, 100, 8; a group goes in that order, too.
  network.ring = {5, 4, 3, 2, 1, 0};
  CHECK(equal(of(Collective::ring, all).alone(), row(Collective::ring, 6, 3, .5, 12)));
  CHECK(equal(of(Collective::ring, {0, 2, 4}).alone(), row(Collective::ring, 3, 3, .5, 12)));
  network.ring = {};
  // Steps of one, two and three places on; the first member is the root of the tree, and its
  // region the server's: both pass every link to and from it.
  CHECK(equal(of(Collective::halving_doubling, all).alone(),
              row(Collective::halving_doubling, 6, 3, 1, 12)));
  CHECK(equal(of(Collective::tree, {0, 1, 2}).alone(), row(Collective::tree, 3, 2, .5, 12)));
  CHECK(
      equal(of(Collective::server, {2, 3, 4}).alone(), row(Collective::server, 3, 3, 1 / 16., 12)));
  CHECK(pair_transfer(network, 0, 2, 12).alone() == 2 + 6);
  CHECK(pair_transfer(network, 4, 5, 50).alone() == 3 + 1);
  CHECK(neighbour_transfer(network, 2, Members{0, 4}, Members{3, 4}, 12).alone() == 3 + 24 / 4.0);
}

// HALoS (Kim et al., 2025): 16 learners in four regions, 70,426,624 numbers; a round of local SGD
// is 64.66 of computing and this exchange, 97.94 in all.
TEST_CASE("peer_network: published regions") {
  PeerNetwork network;
  network.per_node = 4;
  const double gigabit[4][4] = {{100, .537, .935, .202},
                                {.537, 100, .386, .117},
                                {.935, .386, 100, .127},
                                {.202, .117, .127, 100}};
  for (const auto& row_of : gigabit) {
    network.regions.emplace_back();
    for (const double link : row_of) network.regions.back().push_back({0, link * 1e9 / 8});
  }
  const double exchange = collective_transfer(network, first(16), 4.0 * 70426624).alone();
  CHECK(exchange == doctest::Approx(33.27).epsilon(1e-4));
  const auto order =
      fastest_ring(4, [&](std::uint32_t from, std::uint32_t to) { return 1 / gigabit[from][to]; });
  CHECK(order == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("ring_order: the best of all orders to ten places, and nearest first beyond") {
  std::mt19937 random(1);
  const auto slowest = [](const std::vector<std::uint32_t>& order, const auto& cost) {
    double most = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      most = std::max(most, cost(order[i], order[(i + 1) % order.size()]));
    return most;
  };
  for (std::uint32_t n = 1; n <= 7; ++n) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      double costs[8][8];
      for (auto& of_row : costs)
        for (double& cost : of_row) cost = static_cast<double>(random() % 12);
      const auto cost = [&](std::uint32_t from, std::uint32_t to) { return costs[from][to]; };
      std::vector<std::uint32_t> order = first(n), best = order;
      do {
        if (slowest(order, cost) < slowest(best, cost)) best = order;
      } while (std::next_permutation(order.begin() + 1, order.end()));
      CHECK(fastest_ring(n, cost) == best);
    }
  }
  // Links to the place five on, and to the one before, are fast; after eleven only 0 would be so.
  const auto cost = [](std::uint32_t from, std::uint32_t to) {
    return (from + 5) % 12 == to ? 1.0 : (from + 11) % 12 == to ? 2.0 : 3.0;
  };
  CHECK(fastest_ring(12, cost) == std::vector<std::uint32_t>{0, 5, 10, 3, 8, 1, 6, 11, 4, 9, 2, 7});
  CHECK(fastest_ring(10, [](std::uint32_t from, std::uint32_t to) {
          return (from + 3) % 10 == to ? 1.0 : 2.0;
        }) == std::vector<std::uint32_t>{0, 3, 6, 9, 2, 5, 8, 1, 4, 7});
}

}  // namespace gradrace::peer_network_test
