#include "sim/engine/event_queue.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/run_error.h"

namespace gradrace::event_queue_test {

namespace {

std::vector<std::uint32_t> drain(EventQueue& queue) {
  std::vector<std::uint32_t> order;
  for (auto event = queue.next(); event.time < 1e300; event = queue.next()) {
    order.push_back(event.slot);
    queue.remove(event.slot);
  }
  return order;
}

/// A queue and what it has to agree with: all events in one order.
struct Twins {
  explicit Twins(std::uint32_t slots) : queue(slots), pending(slots, oracle.end()) {}

  void schedule(std::uint32_t slot, double time, EventClass event_class) {
    queue.schedule(slot, time, event_class);
    forget(slot);
    pending[slot] = oracle.emplace(std::tuple(time, event_class, sequence++), slot);
  }
  void remove(std::uint32_t slot) {
    queue.remove(slot);
    forget(slot);
  }
  EventQueue::Event check() {
    const auto event = queue.next();
    if (oracle.empty()) {
      REQUIRE_FALSE(event.time < 1e300);
    } else {
      const auto& [due, slot] = *oracle.begin();
      REQUIRE(event.slot == slot);
      REQUIRE(event.time == std::get<0>(due));
      REQUIRE(event.event_class == std::get<1>(due));
      REQUIRE(queue.time(slot) == event.time);
    }
    return event;
  }

  /// As a server cancels all and begins anew: in bulk.
  template <class Delay>
  void start_all_again(double now, const Delay& delay, std::mt19937& words) {
    const auto others = static_cast<std::uint32_t>(pending.size() - 1);
    queue.expect(others);
    for (std::uint32_t slot = 0; slot < others; ++slot) remove(slot);
    queue.expect(others);
    for (std::uint32_t slot = 0; slot < others; ++slot) {
      schedule(slot, now + delay(words, slot), EventClass::arrival);
    }
  }

  using Oracle = std::multimap<std::tuple<double, EventClass, std::uint64_t>, std::uint32_t>;

  EventQueue queue;
  Oracle oracle;
  std::vector<Oracle::iterator> pending;  // of the slots
  std::uint64_t sequence = 0;

 private:
  void forget(std::uint32_t slot) {
    if (pending[slot] != oracle.end()) oracle.erase(pending[slot]);
    pending[slot] = oracle.end();
  }
};

double exponential(std::mt19937& words) {
  return -std::log((static_cast<double>(words()) + 0.5) * 0x1p-32);
}

using Delay = double (*)(std::mt19937& words, std::uint32_t slot);
const std::pair<const char*, Delay> delays[] = {
    {"exponential", [](std::mt19937& words, std::uint32_t) { return exponential(words); }},
    {"all the same", [](std::mt19937&, std::uint32_t) { return 1.0; }},
    {"none", [](std::mt19937&, std::uint32_t) { return 0.0; }},
    {"few values",
     [](std::mt19937& words, std::uint32_t) { return static_cast<double>(words() % 3) * 0.5; }},
    {"nearly the same",
     [](std::mt19937& words, std::uint32_t) { return 1 + 1e-12 * exponential(words); }},
    {"heavy tail",
     [](std::mt19937& words, std::uint32_t) { return std::exp(3 * exponential(words)); }},
    {"fast and slow slots",
     [](std::mt19937& words, std::uint32_t slot) {
       return exponential(words) * (slot % 3 == 0 ? 1e-6 : slot % 3 == 1 ? 1 : 1e6);
     }},
    {"many scales",
     [](std::mt19937& words, std::uint32_t) { return std::exp(-40 * exponential(words)); }},
};

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
    "event_queue: a million random changes, one by one or in bulk, agree with an ordered map") {
  for (const std::uint32_t slots : {2u, 3u, 8u, 10u, 32u, 33u, 65u, 1000u}) {
    Twins twins(slots);
    std::mt19937 words(slots);
    for (int step = 0; step < 1'000'000 / 8; ++step) {
      if (step % 97 == 0) twins.queue.expect(slots);
      const auto slot = static_cast<std::uint32_t>(words() % slots);
      if (words() % 4 == 0) {
        twins.remove(slot);
      } else {
        twins.schedule(slot, static_cast<double>(words() % 50), EventClass::arrival);  // many ties
      }
      twins.check();
    }
  }
}

TEST_CASE("event_queue: what comes next agrees with an ordered map under every law of delays") {
  for (const auto& [what, delay] : delays) {
    for (const std::uint32_t slots : {5u, 33u, 300u, 20'000u}) {
      CAPTURE(what);
      CAPTURE(slots);
      Twins twins(slots);
      std::mt19937 words(slots);
      double now = 0;
      twins.schedule(slots - 1, 1e12, EventClass::end);  // far beyond all others
      for (std::uint32_t slot = 0; slot + 1 < slots; ++slot) {
        twins.schedule(slot, delay(words, slot), EventClass::arrival);
      }
      for (int step = 0; step < 40'000; ++step) {
        const auto event = twins.check();
        REQUIRE(event.time >= now);
        now = event.time;
        const auto event_class = words() % 8 == 0 ? EventClass::exchange : EventClass::arrival;
        twins.schedule(event.slot, now + delay(words, event.slot), event_class);
        const auto other = static_cast<std::uint32_t>(words() % slots);
        if (words() % 5 == 0 && other + 1 < slots) {
          twins.schedule(other, now + delay(words, other), EventClass::arrival);
        }
        if (step % 5000 == 4999) twins.start_all_again(now, delay, words);
      }
    }
  }
}

TEST_CASE("event_queue: events that all come at one time leave in the order of their scheduling") {
  for (const std::uint32_t slots : {7u, 1000u}) {
    Twins twins(slots);
    for (double now = 0; now < 5; ++now) {
      for (std::uint32_t i = 0; i < slots; ++i) {
        twins.schedule((i * 11) % slots, now + 1, EventClass::arrival);
        if (now > 0) twins.check();
      }
    }
    for (std::uint32_t i = 0; i < slots; ++i) twins.remove(twins.check().slot);
    CHECK_FALSE(twins.queue.next().time < 1e300);
  }
}

TEST_CASE("event_queue: a time that overflowed, or is negative, is refused") {
  EventQueue queue(2);
  CHECK_THROWS_AS(queue.schedule(0, std::numeric_limits<double>::infinity(), EventClass::arrival),
                  RunError);
  CHECK_THROWS_AS(queue.schedule(0, std::numeric_limits<double>::quiet_NaN(), EventClass::arrival),
                  RunError);
  CHECK_THROWS_AS(queue.schedule(0, -1e-9, EventClass::arrival), BrokenInvariant);
}

TEST_CASE("event queue: what comes soon is told of once, also after a ladder was thrown away") {
  EventQueue queue(40);
  queue.schedule(0, 1, EventClass::arrival);
  CHECK(queue.next().slot == 0);
  queue.remove(0);
  queue.expect(40);  // so that the ladder is made anew, of nothing
  CHECK_FALSE(queue.next().time < 1e300);
  CHECK(queue.coming().empty());
  CHECK(queue.soon() == nullptr);

  for (std::uint32_t slot = 0; slot < 40; ++slot)
    queue.schedule(slot, 40 - slot, EventClass::arrival);
  std::set<std::uint32_t> told;
  for (std::uint32_t left = 40; left > 0; --left) {
    CHECK(queue.next().slot == left - 1);
    for (const PendingEvent& event : queue.coming()) CHECK(told.insert(event.slot).second);
    const PendingEvent* const soon = queue.soon();
    if (soon) CHECK(soon->due.time() > queue.next().time);
    queue.remove(left - 1);
  }
}

}  // namespace gradrace::event_queue_test
