#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace gradrace {

/// Counts the steps of each of P learners, and those that all have made who take part.
class StepCount {
 public:
  explicit StepCount(std::uint32_t learners) : steps_(learners), taking_part_(learners) {}

  /// The learner makes one; its number, from 1.
  std::uint64_t step(std::uint32_t learner) {
    const std::uint64_t number = ++steps_[learner];
    if (number - all_ > made_.size()) made_.push_back(0);
    ++made_[number - all_ - 1];
    return number;
  }

  /// Whether all have made the next step by now: then that counts.
  bool next() {
    if (made_.empty() || made_.front() < taking_part_) return false;
    made_.pop_front();
    ++all_;
    return true;
  }

  /// Steps that all have made.
  std::uint64_t all() const { return all_; }
  /// The learner's.
  std::uint64_t made(std::uint32_t learner) const { return steps_[learner]; }

  /// The learner takes part no more.
  void leave(std::uint32_t learner) {
    for (std::uint64_t step = all_; step < steps_[learner]; ++step) --made_[step - all_];
    if (--taking_part_ == 0) made_.clear();
  }
  /// It does again, and counts as having made so many.
  void join(std::uint32_t learner, std::uint64_t steps) {
    ++taking_part_;
    steps_[learner] = std::max(all_, steps);
    if (steps > all_ + made_.size()) made_.resize(steps - all_);
    for (std::uint64_t step = all_; step < steps; ++step) ++made_[step - all_];
  }

 private:
  std::vector<std::uint64_t> steps_;  // [learner]
  std::size_t taking_part_;
  std::deque<std::uint32_t> made_;  // [step - all_ - 1]: learners that have made it
  std::uint64_t all_ = 0;
};

}  // namespace gradrace
