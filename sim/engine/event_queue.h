#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/check.h"
#include "sim/engine/ladder.h"
#include "sim/engine/pending_event.h"
#include "sim/large_pages.h"

namespace gradrace {

/// The pending events: at most one in each of a fixed number of slots (a learner computes one
/// minibatch at a time), ordered by (time, class, sequence of scheduling).
///
/// Few slots play a tournament, whose winner is checked against all where two times have met that
/// are the same or nearly so.  Many are indexed by a ladder, from which events that were replaced
/// or removed go when they come to its front, or all at once when they have become as many as the
/// slots; where most slots change together the ladder is made anew.
class EventQueue {
 public:
  explicit EventQueue(std::uint32_t slots);

  /// Sets the event of the slot, in place of the one it had.  The time is 0 or later; RunError
  /// where it overflowed.
  void schedule(std::uint32_t slot, double time, EventClass event_class) {
    const Due due = Due::at(time, event_class, sequence_++);
    if (!due.is_time()) refuse(time);
    if (few_) {
      put(slot, due.time_bits / most_few * most_few + slot);
    } else {
      forget(slot);
      if (!stale_) ladder_.push({due, slot});
    }
    pending_[slot] = due;
  }

  /// RunError: no event comes then.
  [[noreturn]] static void refuse(double time);

  /// Of the slot's event; infinity: it has none.
  double time(std::uint32_t slot) const { return pending_[slot].time(); }

  void remove(std::uint32_t slot) {
    if (few_) {
      put(slot, never(slot));
    } else {
      forget(slot);
    }
    pending_[slot] = {};
  }

  /// So many changes come before the next event is asked for.
  void expect(std::uint32_t changes) {
    stale_ = stale_ || std::uint64_t{changes} * 4 > pending_.size();
  }

  /// The earliest event; its time is infinite if there is none.
  struct Event {
    double time;
    EventClass event_class;
    std::uint32_t slot;
  };
  Event next() {
    const std::uint32_t slot = few_ ? earliest_of_few() : earliest_of_many();
    return {pending_[slot].time(), pending_[slot].event_class(), slot};
  }

  /// Events that come soon, each told of once, if their slots are many: what belongs to a slot can
  /// be fetched before it is needed.
  bool has_coming() const { return ladder_.has_coming(); }
  std::span<const PendingEvent> coming() {
    const auto events = ladder_.coming();
    for (const PendingEvent& event : events) __builtin_prefetch(&pending_[event.slot], 1);
    return events;
  }
  /// An event that comes soon; null: not known.
  const PendingEvent* soon() const { return few_ ? nullptr : ladder_.soon(places_ahead); }
  static constexpr std::size_t places_ahead = 3;

 private:
  static constexpr std::uint64_t most_few = 32;

  /// A tournament of few slots: their times with the slot in place of the last bits, so that a
  /// winner says which slot it is, and no branch depends on times.
  void put(std::uint32_t slot, std::uint64_t key) {
    std::uint64_t winner = key;
    std::size_t at = leaves_ + slot;
    tournament_[at] = winner;
    if (stale_) [[unlikely]]
      return;
    for (; at > 1; at /= 2) {
      winner = play(winner, tournament_[at ^ 1]);
      tournament_[at / 2] = winner;
    }
  }
  std::uint64_t play(std::uint64_t a, std::uint64_t b) {
    if ((a ^ b) < most_few) [[unlikely]]
      close_ = true;
    return std::min(a, b);
  }
  /// Of a slot without an event: later than every time, and near to no other.
  static std::uint64_t never(std::uint32_t slot) {
    return Due().time_bits + slot * most_few + slot;
  }
  std::uint32_t earliest_of_few() {
    if (stale_) [[unlikely]]
      play_all();
    const std::uint64_t winner = tournament_[1];
    if (close_ && !is_alone(winner)) [[unlikely]]
      return earliest_of_all();
    return static_cast<std::uint32_t>(winner % most_few);
  }
  /// Whether no other slot's time differs in the last bits alone, or not at all: the next one lost
  /// to the winner itself.
  bool is_alone(std::uint64_t winner) const {
    bool same = false;
    for (std::size_t at = leaves_ + winner % most_few; at > 1; at /= 2) {
      same |= (tournament_[at ^ 1] ^ winner) < most_few;
    }
    return !same;
  }
  std::uint32_t earliest_of_all() const;
  void play_all();

  std::uint32_t earliest_of_many() {
    if (stale_) [[unlikely]]
      make_ladder();
    while (const PendingEvent* const event = ladder_.front()) {
      if (event->due == pending_[event->slot]) return event->slot;
      ladder_.pop();
      --forgotten_;
    }
    return 0;
  }
  /// The ladder's event of the slot, if there is one, counts no more.
  void forget(std::uint32_t slot) {
    if (stale_ || !pending_[slot].is_time()) return;
    if (ladder_.begins_with({pending_[slot], slot})) return ladder_.pop();
    stale_ = ++forgotten_ > pending_.size();
  }
  void make_ladder();

  LargeVector<Due> pending_;  // of the slots
  std::uint64_t sequence_ = 0;

  const bool few_;
  const std::size_t leaves_;
  std::vector<std::uint64_t> tournament_;  // 1: of all; from leaves_ on: of each slot, if few
  bool close_ = false;  // keys that differ in the slot alone have met: a winner may be wrong

  Ladder ladder_;                // of all that is pending, and of what is forgotten
  std::uint64_t forgotten_ = 0;  // its events that were replaced or removed
  bool stale_ = false;           // it, or the tournament, is to be made anew
};

}  // namespace gradrace
