#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace gradrace {

/// Counts the steps of each of P learners, and those that all have made who take part.  Who comes
/// back later counts as being beyond steps that it has not made.
class StepCount {
 public:
  explicit StepCount(std::uint32_t learners) : steps_(learners), taking_part_(learners) {}

  /// The learner makes one; its number, from 1.
  std::uint64_t step(std::uint32_t learner) {
    const std::uint64_t number = ++steps_[learner];
    if (number - all_ > ahead_.size()) ahead_.emplace_back();
    Step& step = ahead_[number - all_ - 1];
    ++step.beyond;
    step.is_made = true;
    return number;
  }

  /// It is beyond so many more, which it does not make.
  void skip(std::uint32_t learner, std::uint64_t steps) {
    be_beyond(learner, steps_[learner] + steps);
  }

  /// Whether all are beyond the next step by now.
  bool has_next() const { return !ahead_.empty() && ahead_.front().beyond >= taking_part_; }
  /// Then that counts, and whether any has made it.
  std::optional<bool> next() {
    if (!has_next()) return {};
    const bool is_made = ahead_.front().is_made;
    ahead_.pop_front();
    ++all_;
    return is_made;
  }

  /// Steps that all are beyond.
  std::uint64_t all() const { return all_; }
  /// Those that the learner is beyond.
  std::uint64_t of(std::uint32_t learner) const { return steps_[learner]; }

  /// The learner takes part no more.
  void leave(std::uint32_t learner) {
    for (std::uint64_t step = all_; step < steps_[learner]; ++step) --ahead_[step - all_].beyond;
    if (--taking_part_ == 0) ahead_.clear();
  }
  /// It does again, and is beyond so many.
  void join(std::uint32_t learner, std::uint64_t steps) {
    ++taking_part_;
    steps_[learner] = all_;
    be_beyond(learner, steps);
  }

 private:
  void be_beyond(std::uint32_t learner, std::uint64_t steps) {
    if (steps > all_ + ahead_.size()) ahead_.resize(steps - all_);
    for (std::uint64_t& step = steps_[learner]; step < steps; ++step) ++ahead_[step - all_].beyond;
  }

  struct Step {
    std::uint32_t beyond = 0;  // learners
    bool is_made = false;      // by any
  };

  std::vector<std::uint64_t> steps_;  // [learner]
  std::size_t taking_part_;
  std::deque<Step> ahead_;  // [step - all_ - 1]
  std::uint64_t all_ = 0;
};

}  // namespace gradrace
