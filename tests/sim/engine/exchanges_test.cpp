#include "sim/engine/exchanges.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace gradrace::exchanges_test {

namespace {

using Members = std::vector<std::uint32_t>;
using Ends = std::vector<std::pair<int, double>>;  // name and time, in order

struct Beginning {
  double time;
  Transfer transfer;
};

/// When exchanges end that begin at those times; their names are their indices.
Ends ends_of(const PeerNetwork& network, std::uint32_t learners,
             const std::vector<Beginning>& beginnings) {
  const auto count = static_cast<std::uint32_t>(beginnings.size());
  EventQueue queue(count + learners);
  Exchanges exchanges(&network, learners, queue, count);
  std::map<std::uint32_t, int> names;
  for (std::uint32_t i = 0; i < count; ++i) {
    queue.schedule(i, beginnings[i].time, EventClass::arrival);
  }
  Ends ends;
  for (auto event = queue.next(); event.time < 1e300; event = queue.next()) {
    if (event.slot < count) {
      queue.remove(event.slot);
      names[exchanges.begin(beginnings[event.slot].transfer, event.time)] =
          static_cast<int>(event.slot);
    } else if (exchanges.on_event(event.slot - count, event.time)) {
      ends.emplace_back(names.at(event.slot - count), event.time);
    }
  }
  return ends;
}

void check(const Ends& ends, const Ends& expected) {
  REQUIRE(ends.size() == expected.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CAPTURE(i);
    CAPTURE(ends[i].second);
    CHECK(ends[i].first == expected[i].first);
    CHECK(std::abs(ends[i].second - expected[i].second) <= 1e-12 * expected[i].second);
  }
}

PeerNetwork nodes_of_four() {
  PeerNetwork network;
  network.per_node = 4;
  network.inside = {0, 100};
  network.between = {0, 10};
  return network;
}

/// Every exchange's rate is found anew at each event.
std::vector<double> slow_ends(const PeerNetwork& network,
                              const std::vector<Beginning>& beginnings) {
  const double never = std::numeric_limits<double>::infinity();
  std::vector<double> left, end(beginnings.size(), never);
  for (const auto& [time, transfer] : beginnings) left.push_back(transfer.bytes);
  const auto flow_begin = [&](std::size_t i) {
    return beginnings[i].time + beginnings[i].transfer.latency;
  };
  for (double now = 0;;) {
    std::map<std::uint32_t, double> out, in;
    const auto flows = [&](std::size_t i) { return flow_begin(i) <= now && end[i] == never; };
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!flows(i)) continue;
      for (const NicUse& use : beginnings[i].transfer.nics) {
        out[use.node] += use.out;
        in[use.node] += use.in;
      }
    }
    std::vector<double> rates(left.size(), 0);
    double next = never;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (end[i] < never) continue;
      if (!flows(i)) {
        next = std::min(next, flow_begin(i));
        continue;
      }
      rates[i] = beginnings[i].transfer.bandwidth;
      for (const NicUse& use : beginnings[i].transfer.nics) {
        const double most = std::max(use.out ? out[use.node] : 0, use.in ? in[use.node] : 0);
        rates[i] = std::min(rates[i], network.between.bandwidth / most);
      }
      next = std::min(next, now + left[i] / rates[i]);
    }
    if (next == never) return end;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!flows(i)) continue;
      if (now + left[i] / rates[i] <= next) end[i] = next;
      left[i] -= (next - now) * rates[i];
    }
    now = next;
  }
}

}  // namespace

TEST_CASE("exchanges: two groups across both nodes take the bytes' part twice as long") {
  PeerNetwork network = nodes_of_four();
  network.between.latency = 0.25;
  const auto begin_both = [&] {
    return std::vector<Beginning>{{1, collective_transfer(network, Members{0, 1, 4, 5}, 20)},
                                  {1, collective_transfer(network, Members{2, 3, 6, 7}, 20)}};
  };
  CHECK(begin_both()[0].transfer.alone() == 6 * 0.25 + 3);
  const Ends both = ends_of(network, 8, begin_both());
  check(both, {{0, 1 + 1.5 + 6}, {1, 1 + 1.5 + 6}});
  CHECK(both[0].second == both[1].second);  // to the bit
  network.shared = false;
  check(ends_of(network, 8, begin_both()), {{0, 5.5}, {1, 5.5}});
}

TEST_CASE("exchanges: staggered beginnings, worked by hand") {
  const PeerNetwork network = nodes_of_four();
  // The first has 10 of its 20 bytes left at 1 and goes at 5 from then on, as the second does; that
  // one has 10 left at 3, all for itself.  Inside its node the third meets nobody.
  check(ends_of(network, 8,
                {{0, pair_transfer(network, 0, 4, 20)},
                 {1, pair_transfer(network, 1, 5, 20)},
                 {1, pair_transfer(network, 2, 3, 20)}}),
        {{2, 1.2}, {0, 3}, {1, 4}});
  // A latency takes no bandwidth: the same, with the second's bytes from 1 on.
  Transfer late = pair_transfer(network, 1, 5, 20);
  late.latency = 0.75;
  check(ends_of(network, 8, {{0, pair_transfer(network, 0, 4, 20)}, {0.25, late}}),
        {{0, 3}, {1, 4}});
}

TEST_CASE("exchanges: each goes at the smallest share on its way") {
  const PeerNetwork network = nodes_of_four();
  // Three pass the second node's NIC, at 10/3; the first has the first node's for itself.  The
  // others go on at 5 from 6 on with 20 bytes left: 10.
  check(ends_of(network, 12,
                {{0, pair_transfer(network, 0, 4, 20)},
                 {0, pair_transfer(network, 5, 8, 40)},
                 {0, pair_transfer(network, 6, 9, 40)}}),
        {{0, 6}, {1, 10}, {2, 10}});
  // The first is no faster than the links inside, and what it leaves goes to nobody.
  PeerNetwork slow = nodes_of_four();
  slow.inside.bandwidth = 2;
  Transfer pair = pair_transfer(slow, 2, 5, 20);
  check(ends_of(slow, 8, {{0, collective_transfer(slow, Members{0, 1, 4}, 6)}, {0, pair}}),
        {{0, 4}, {1, 4}});
}

TEST_CASE("exchanges: the two directions of a NIC are two") {
  const PeerNetwork network = nodes_of_four();
  Transfer out{0, 20, 10, {{0, 1, 0}}}, in{0, 20, 10, {{0, 0, 1}}};
  check(ends_of(network, 8, {{0, out}, {0, in}}), {{0, 2}, {1, 2}});
  check(ends_of(network, 8, {{0, out}, {0, out}}), {{0, 4}, {1, 4}});
}

TEST_CASE("exchanges: messages of one exchange that pass a NIC together share it too") {
  PeerNetwork network = nodes_of_four();
  network.collective = Collective::halving_doubling;
  const Transfer two = collective_transfer(network, Members{0, 1, 4, 5}, 20);  // 30 bytes each
  CHECK(two.alone() == 3);
  check(ends_of(network, 8, {{0, two}}), {{0, 6}});
  // Three messages: both go at 10/3 up to 3, then the group at 5 with 20 bytes left.
  check(ends_of(network, 8, {{0, two}, {0, pair_transfer(network, 2, 6, 10)}}), {{1, 3}, {0, 7}});
  network.shared = false;
  check(ends_of(network, 8, {{0, collective_transfer(network, Members{0, 1, 4, 5}, 20)}}),
        {{0, 3}});
}

TEST_CASE("exchanges: random ones agree with rates found anew at each event") {
  std::mt19937 words(7);
  const auto uniform = [&](double most) {
    return most * static_cast<double>(words() % 4096) / 4096;
  };
  for (int repeat = 0; repeat < 200; ++repeat) {
    PeerNetwork network = nodes_of_four();
    network.between = {uniform(1), 1 + uniform(10)};
    network.inside = {uniform(1), 1 + uniform(10)};
    network.collective = repeat % 2 ? Collective::halving_doubling : Collective::ring;
    std::vector<Beginning> beginnings;
    for (int i = 0; i < 30; ++i) {
      Members members;
      for (std::uint32_t learner = 0; learner < 16; ++learner) {
        if (words() % 4 == 0) members.push_back(learner);
      }
      if (members.size() < 2) continue;
      beginnings.push_back({uniform(40), collective_transfer(network, members, 1 + uniform(50))});
    }
    const std::vector<double> expected = slow_ends(network, beginnings);
    const Ends ends = ends_of(network, 30, beginnings);
    REQUIRE(ends.size() == expected.size());
    for (const auto& [name, time] : ends) {
      const double right = expected[static_cast<std::size_t>(name)];
      REQUIRE(std::abs(time - right) <= 1e-12 * right);
    }
  }
}

TEST_CASE("exchanges: they end after arrivals and before timers of one time") {
  EventQueue queue(5);
  const PeerNetwork network;
  Exchanges exchanges(&network, 2, queue, 3);
  queue.schedule(0, 2, EventClass::end);
  queue.schedule(1, 2, EventClass::timer);
  const std::uint32_t number = exchanges.begin({.latency = 2}, 0);
  const std::uint32_t other = exchanges.begin({}, 2);  // of no time
  queue.schedule(2, 2, EventClass::arrival);
  CHECK(queue.next().slot == 2);
  queue.remove(2);
  CHECK(queue.next().slot == 3 + number);
  CHECK(queue.next().event_class == EventClass::exchange);
  CHECK(exchanges.on_event(number, 2));
  CHECK(queue.next().slot == 3 + other);
  CHECK(exchanges.on_event(other, 2));
  CHECK(queue.next().event_class == EventClass::timer);
}

TEST_CASE("exchanges: numbers are used again, and are as many as learners") {
  EventQueue queue(2);
  Exchanges exchanges(nullptr, 2, queue, 0);
  const std::uint32_t one = exchanges.begin({.latency = 1}, 0);
  const std::uint32_t other = exchanges.begin({.latency = 2}, 0);
  CHECK(one != other);
  CHECK_THROWS(exchanges.begin({.latency = 3}, 0));
  CHECK(exchanges.on_event(one, 1));
  CHECK(exchanges.begin({.latency = 3}, 1) == one);
}

}  // namespace gradrace::exchanges_test
