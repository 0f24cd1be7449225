#pragma once

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <iterator>
#include <limits>

namespace gradrace {

/// A link of `bandwidth` bytes per unit of time whose transfers share it equally (processor
/// sharing); those that end at once do so in the order in which they began.
class SharedLink {
 public:
  SharedLink(double bandwidth, std::uint32_t most_transfers)
      : bandwidth_(bandwidth), transfers_(most_transfers) {}

  void enter(std::uint32_t learner, double bytes, double now) {
    advance(now);
    const double end = carried_ + bytes;
    auto after = transfers_.end();  // it itself, where all are of one size
    while (after != transfers_.begin() && std::prev(after)->end > end) --after;
    transfers_.insert(after, {learner, end});
  }

  bool is_idle() const { return transfers_.empty(); }

  /// When the next transfer ends if none begins; infinite if there is none.
  double next_end() const {
    if (transfers_.empty()) return std::numeric_limits<double>::infinity();
    const double left = std::max(0.0, transfers_.front().end - carried_);
    return last_ + left * static_cast<double>(transfers_.size()) / bandwidth_;
  }

  /// Ends it: the learner whose transfer it was.
  std::uint32_t pop(double now) {
    const Transfer done = transfers_.front();
    busy_ = busy(now);
    transfers_.pop_front();
    carried_ = done.end;
    last_ = now;
    return done.learner;
  }

  /// Gives the learner's transfer up, if there is one.
  void remove(std::uint32_t learner, double now) {
    advance(now);
    const auto gone = std::find_if(transfers_.begin(), transfers_.end(),
                                   [&](const Transfer& one) { return one.learner == learner; });
    if (gone != transfers_.end()) transfers_.erase(gone);
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

  void advance(double now) {
    busy_ = busy(now);
    if (transfers_.empty()) {
      carried_ = 0;
    } else {
      carried_ += (now - last_) * bandwidth_ / static_cast<double>(transfers_.size());
    }
    last_ = now;
  }

  const double bandwidth_;
  double carried_ = 0;  // bytes that every transfer got that has been there since it was 0
  double last_ = 0;     // when that was so
  double busy_ = 0;     // how long it had carried anything then
  boost::circular_buffer<Transfer> transfers_;  // in the order of their ends
};

}  // namespace gradrace
