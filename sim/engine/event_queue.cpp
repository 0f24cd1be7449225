#include "sim/engine/event_queue.h"

#include <bit>

#include "sim/run_error.h"

namespace gradrace {

EventQueue::EventQueue(std::uint32_t slots)
    : pending_(slots),
      few_(slots <= most_few),
      leaves_(few_ ? std::bit_ceil(slots) : 0),
      tournament_(2 * leaves_) {
  GRADRACE_CHECK(slots >= 2, "a queue has two slots or more");
  for (std::uint32_t slot = 0; slot < leaves_; ++slot) tournament_[leaves_ + slot] = never(slot);
  if (few_) play_all();
}

void EventQueue::refuse(double time) {
  GRADRACE_CHECK(!(time < 0), "an event needs a time of 0 or later");
  throw RunError(
      "simulated time overflows: an event would come later than 1.8e308, the greatest number; "
      "times of the cluster are too long");
}

void EventQueue::play_all() {
  for (std::size_t at = leaves_; at-- > 1;) {
    tournament_[at] = play(tournament_[2 * at], tournament_[2 * at + 1]);
  }
  stale_ = false;
}

std::uint32_t EventQueue::earliest_of_all() const {
  return static_cast<std::uint32_t>(std::min_element(pending_.begin(), pending_.end()) -
                                    pending_.begin());
}

void EventQueue::make_ladder() {
  ladder_.clear();
  for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
    if (pending_[slot].is_time()) ladder_.push({pending_[slot], slot});
  }
  forgotten_ = 0;
  stale_ = false;
}

}  // namespace gradrace
