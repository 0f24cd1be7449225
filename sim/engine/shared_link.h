#pragma once

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "sim/engine/overtakers.h"

namespace gradrace {

/// A link of `bandwidth` bytes per unit of time whose transfers share it equally (processor
/// sharing); those that end at once do so in the order in which they began.
class SharedLink {
 public:
  explicit SharedLink(double bandwidth) : bandwidth_(bandwidth) {}

  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  void enter(std::uint32_t learner, double bytes, double now) {
    advance(now);
    const double end = carried_ + bytes;
    const bool is_last = is_idle() || longest_ <= end;
    if (!is_last) [[unlikely]]
      return overtakers_.push({end, begun_++, learner});
    if (transfers_.full()) transfers_.set_capacity(2 * transfers_.size() + 16);
    transfers_.push_back({learner, longest_ = end});
  }

  bool is_idle() const { return transfers_.empty() && overtakers_.empty(); }

  /// When the next transfer ends if none begins.  Not to be called where there is none.
  double next_end() const {
    const double end = is_overtaken() ? overtakers_.first().end : transfers_.front().end;
    const double left = std::max(0.0, end - carried_);
    return last_ + left * sharers() / bandwidth_;
  }

  /// Ends it: the learner whose transfer it was.
  std::uint32_t pop(double now) {
    busy_ += now - last_;
    last_ = now;
    if (is_overtaken()) [[unlikely]] {
      const Overtakers::Transfer done = overtakers_.first();
      overtakers_.pop();
      carried_ = done.end;
      return done.learner;
    }
    const Transfer done = transfers_.front();
    transfers_.pop_front();
    carried_ = done.end;
    return done.learner;
  }

  /// Gives the learner's transfer up, if there is one.
  void remove(std::uint32_t learner, double now) {
    advance(now);
    if (overtakers_.remove(learner)) return;
    const auto gone = std::ranges::find(transfers_, learner, &Transfer::learner);
    if (gone == transfers_.end()) return;
    const bool early = gone - transfers_.begin() < transfers_.end() - gone;
    early ? transfers_.rerase(gone) : transfers_.erase(gone);
  }

  void clear(double now) {
    advance(now);
    transfers_.clear();
    overtakers_.clear();
  }

  /// How long it has carried anything, until now.
  double busy(double now) const { return is_idle() ? busy_ : busy_ + (now - last_); }

 private:
  struct Transfer {
    std::uint32_t learner;
    double end;  // of carried_
  };

  /// By way of a signed number, which is converted without a branch.
  double sharers() const {
    return static_cast<double>(static_cast<std::ptrdiff_t>(transfers_.size() + overtakers_.size()));
  }
  /// Whether the next to end is one that overtakes.
  bool is_overtaken() const {
    return !overtakers_.empty() &&
           (transfers_.empty() || overtakers_.first().end < transfers_.front().end);
  }

  void advance(double now) {
    const double passed = now - std::exchange(last_, now);
    if (is_idle()) {
      carried_ = 0;
    } else {
      busy_ += passed;
      carried_ += passed * bandwidth_ / sharers();
    }
  }

  double bandwidth_;
  double carried_ = 0;  // bytes that every transfer got that has been there since it was 0
  double last_ = 0;     // when that was so
  double busy_ = 0;     // how long it had carried anything then
  boost::circular_buffer<Transfer> transfers_;  // in the order of their ends, as they began
  double longest_ = 0;                          // of their ends, since all began
  Overtakers overtakers_;                       // the others, all of which end before that
  std::uint32_t begun_ = 0;                     // of those
};

}  // namespace gradrace
