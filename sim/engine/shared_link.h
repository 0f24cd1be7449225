#pragma once

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

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
    if (transfers_.full()) transfers_.set_capacity(2 * transfers_.size() + 16);
    if (transfers_.empty() || transfers_.back().end <= end)
      return transfers_.push_back({learner, end});
    auto after = std::prev(transfers_.end());
    while (after != transfers_.begin() && std::prev(after)->end > end) --after;
    transfers_.insert(after, {learner, end});
  }

  bool is_idle() const { return transfers_.empty(); }

  /// When the next transfer ends if none begins.  Not to be called where there is none.
  double next_end() const {
    const double left = std::max(0.0, transfers_.front().end - carried_);
    return last_ + left * sharers() / bandwidth_;
  }

  /// Ends it: the learner whose transfer it was.
  std::uint32_t pop(double now) {
    const Transfer done = transfers_.front();
    busy_ += now - last_;
    transfers_.pop_front();
    carried_ = done.end;
    last_ = now;
    return done.learner;
  }

  /// Gives the learner's transfer up, if there is one.
  void remove(std::uint32_t learner, double now) {
    advance(now);
    const auto gone = std::ranges::find(transfers_, learner, &Transfer::learner);
    if (gone == transfers_.end()) return;
    const bool early = gone - transfers_.begin() < transfers_.end() - gone;
    early ? transfers_.rerase(gone) : transfers_.erase(gone);
  }

  void clear(double now) {
    advance(now);
    transfers_.clear();
  }

  /// How long it has carried anything, until now.
  double busy(double now) const { return transfers_.empty() ? busy_ : busy_ + (now - last_); }

 private:
  struct Transfer {
    std::uint32_t learner;
    double end;  // of carried_
  };

  /// By way of a signed number, which is converted without a branch.
  double sharers() const {
    return static_cast<double>(static_cast<std::ptrdiff_t>(transfers_.size()));
  }

  void advance(double now) {
    const double passed = now - std::exchange(last_, now);
    if (transfers_.empty()) {
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
  boost::circular_buffer<Transfer> transfers_;  // in the order of their ends
};

}  // namespace gradrace
