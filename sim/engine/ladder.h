#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/pending_event.h"
#include "sim/engine/rung.h"

namespace gradrace {

/// Many pending events, of which the earliest is asked for: a ladder queue.  Events that come soon
/// are sorted, later ones lie in buckets, the latest in one heap at the top; a bucket that is
/// opened is sorted, or makes the next rung if it is large.  Each event is moved a few times,
/// however many there are.
///
/// Source: Tang, Goh, Thng, ACM Transactions on Modeling and Computer Simulation 15(3), 2005.
class Ladder {
 public:
  void push(const PendingEvent& event) {
    for (std::size_t i = 0; i < depth_; ++i) {
      Rung& rung = rungs_[i];
      std::int32_t place = rung.place(event);
      if (place == rung.size()) {
        if (i == 0) return top_.push_back(event);
        --place;  // of a rung inside a bucket, whose end is rounded
      }
      if (rung.has(place)) return rung.push(place, event);
    }
    if (depth_ == 0) return top_.push_back(event);
    insert(event);
  }

  /// The earliest; null: there is none.
  const PendingEvent* front() {
    if (first_ == soon_.size() && !refill()) return nullptr;
    return &soon_[first_];
  }
  void pop() { ++first_; }
  /// Whether it is that event, as far as events are sorted.
  bool begins_with(const PendingEvent& event) const {
    return first_ < soon_.size() && soon_[first_].slot == event.slot &&
           soon_[first_].due == event.due;
  }

  /// What comes after the events that have been sorted since this was asked last.
  bool has_coming() const { return is_new_; }
  std::span<const PendingEvent> coming() {
    if (!std::exchange(is_new_, false)) return {};
    const auto next = rungs_[depth_ - 1].next();
    return next.first(std::min(next.size(), most_sorted));
  }
  /// The event so many places behind the first; null: it is not sorted yet.
  const PendingEvent* soon(std::size_t places) const {
    return first_ + places < soon_.size() ? &soon_[first_ + places] : nullptr;
  }

  void clear();

 private:
  static constexpr std::size_t most_rungs = 8;
  static constexpr std::size_t most_sorted = 48;

  bool refill();
  void make_first_rung();
  bool make_rung(const Rung::Bucket& events);
  void insert(const PendingEvent& event);
  void shorten();

  std::vector<PendingEvent> top_;       // later than the rungs
  std::array<Rung, most_rungs> rungs_;  // each within an opened bucket of the one before
  std::size_t depth_ = 0;               // rungs in use
  std::vector<PendingEvent> soon_;      // sorted, earlier than the rungs' closed buckets
  std::size_t first_ = 0;               // of soon_ that is pending
  std::size_t too_many_ = most_sorted;  // pending ones of soon_
  bool is_new_ = false;                 // soon_, since coming() was asked
};

}  // namespace gradrace
