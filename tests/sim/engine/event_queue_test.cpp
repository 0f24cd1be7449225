#include "sim/engine/event_queue.h"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <tuple>

using namespace gradrace;

namespace {

std::vector<std::uint32_t> drain(EventQueue& queue) {
  std::vector<std::uint32_t> order;
  for (auto event = queue.next(); event.time < 1e300; event = queue.next()) {
    order.push_back(event.slot);
    queue.remove(event.slot);
  }
  return order;
}

}  // namespace

TEST_CASE("event_queue: equal times come in the order they were scheduled") {
  EventQueue forward(5), backward(5);
  for (std::uint32_t slot = 0; slot < 5; ++slot) forward.schedule(slot, 1.0, EventClass::arrival);
  for (std::uint32_t slot = 5; slot-- > 0;) backward.schedule(slot, 1.0, EventClass::arrival);
  CHECK(drain(forward) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(drain(backward) == std::vector<std::uint32_t>{4, 3, 2, 1, 0});
}

TEST_CASE("event_queue: at one time arrivals come before evaluations, and the end last") {
  for (const bool forward : {true, false}) {
    EventQueue queue(3);
    const auto schedule = [&](std::uint32_t slot) {
      queue.schedule(slot, 2.0,
                     slot == 0   ? EventClass::arrival
                     : slot == 1 ? EventClass::evaluation
                                 : EventClass::end);
    };
    for (std::uint32_t i = 0; i < 3; ++i) schedule(forward ? i : 2 - i);
    CHECK(queue.next().event_class == EventClass::arrival);
    CHECK(drain(queue) == std::vector<std::uint32_t>{0, 1, 2});
  }
}

TEST_CASE("event_queue: an earlier time comes first by however little") {
  EventQueue queue(2);
  queue.schedule(0, 1.0, EventClass::arrival);
  queue.schedule(1, std::nextafter(1.0, 0.0), EventClass::end);
  CHECK(drain(queue) == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE(
    "event_queue: a million random changes, one by one or in bulk, agree with an ordered set") {
  for (const std::uint32_t slots : {2u, 3u, 8u, 10u, 65u, 1000u}) {
    EventQueue queue(slots);
    std::set<std::tuple<double, std::uint64_t, std::uint32_t>> oracle;
    std::vector<std::tuple<double, std::uint64_t, std::uint32_t>> pending(slots);
    std::vector<bool> has(slots, false);
    std::mt19937 words(slots);
    std::uint64_t sequence = 0;
    for (int step = 0; step < 1'000'000 / 6; ++step) {
      const auto slot = static_cast<std::uint32_t>(words() % slots);
      if (has[slot]) oracle.erase(pending[slot]);
      if (step % 97 == 0) queue.expect(slots);
      has[slot] = words() % 4 != 0;
      if (has[slot]) {
        const double time = static_cast<double>(words() % 50);  // many ties
        pending[slot] = {time, sequence++, slot};
        queue.schedule(slot, time, EventClass::arrival);
        oracle.insert(pending[slot]);
      } else {
        queue.remove(slot);
      }
      if (oracle.empty()) {
        REQUIRE_FALSE(queue.next().time < 1e300);
      } else {
        REQUIRE(queue.next().slot == std::get<2>(*oracle.begin()));
        REQUIRE(queue.next().time == std::get<0>(*oracle.begin()));
      }
    }
  }
}

TEST_CASE("event_queue: a time that is not finite is refused") {
  EventQueue queue(2);
  CHECK_THROWS_AS(queue.schedule(0, std::numeric_limits<double>::infinity(), EventClass::arrival),
                  BrokenInvariant);
  CHECK_THROWS_AS(queue.schedule(0, std::numeric_limits<double>::quiet_NaN(), EventClass::arrival),
                  BrokenInvariant);
}
