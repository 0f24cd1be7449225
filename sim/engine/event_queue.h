#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/check.h"

namespace gradrace {

/// What happens first among events of one instant.  An exchange between learners ends after the
/// arrivals of its time; a timer sees both, an evaluation all three, and the end of a run all.
enum class EventClass : std::uint8_t { arrival, exchange, timer, evaluation, end };

/// The pending events: at most one in each of a fixed number of slots (a learner computes one
/// minibatch at a time), ordered by (time, class, sequence of scheduling).
///
/// A tournament tree: scheduling, replacing and true removal climb log2(slots) nodes; nothing is
/// allocated after construction.
class EventQueue {
 public:
  explicit EventQueue(std::uint32_t slots) : slots_(slots), nodes_(2 * std::size_t{slots}) {
    GRADRACE_CHECK(slots >= 2, "a queue has two slots or more");
    for (std::uint32_t slot = 0; slot < slots; ++slot) nodes_[slots + slot].slot = slot;
    rebuild();
  }

  /// Sets the event of the slot, in place of the one it had.
  void schedule(std::uint32_t slot, double time, EventClass event_class) {
    GRADRACE_CHECK(time < never, "an event needs a finite time");
    const auto order = static_cast<std::uint64_t>(event_class) << 60 | sequence_++;
    place({time, order, slot});
  }

  /// Of the slot's event; infinity: it has none.
  double time(std::uint32_t slot) const { return nodes_[slots_ + slot].time; }

  void remove(std::uint32_t slot) { place({never, 0, slot}); }

  /// So many changes come before the next event is asked for: the tree is then ordered once, if
  /// that is cheaper.
  void expect(std::uint32_t changes) {
    stale_ = stale_ || std::uint64_t{changes} * std::bit_width(slots_) > slots_;
  }

  /// The earliest event; its time is infinite if there is none.
  struct Event {
    double time;
    EventClass event_class;
    std::uint32_t slot;
  };
  Event next() {
    if (stale_) rebuild();
    return {nodes_[1].time, static_cast<EventClass>(nodes_[1].order >> 60), nodes_[1].slot};
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct Node {
    double time = never;
    std::uint64_t order = 0;
    std::uint32_t slot = 0;
  };

  /// The one comparison.
  static bool before(const Node& a, const Node& b) {
    return a.time < b.time || (a.time == b.time && a.order < b.order);
  }

  void place(const Node& node) {
    std::size_t at = slots_ + node.slot;
    nodes_[at] = node;
    if (stale_) return;
    for (; at > 1; at /= 2) {
      const Node& winner = before(nodes_[at], nodes_[at ^ 1]) ? nodes_[at] : nodes_[at ^ 1];
      nodes_[at / 2] = winner;
    }
  }

  void rebuild() {
    for (std::size_t at = slots_ - 1; at > 0; --at) {
      nodes_[at] = before(nodes_[2 * at], nodes_[2 * at + 1]) ? nodes_[2 * at] : nodes_[2 * at + 1];
    }
    stale_ = false;
  }

  std::uint32_t slots_;
  std::uint64_t sequence_ = 0;
  bool stale_ = false;
  std::vector<Node> nodes_;  // 1: the earliest of all; slots_ + s: slot s
};

}  // namespace gradrace
