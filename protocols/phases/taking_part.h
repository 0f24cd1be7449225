#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocols/policies/straggler_policy.h"
#include "sim/gradient_facts.h"

namespace gradrace {

/// The learners of a phase of `switch`: who is slow for a while, and who takes part in updates.
class TakingPart {
 public:
  /// A phase begins: all take part.
  void begin(const StragglerPolicyProduct& policy, std::uint32_t learners) {
    detector_.reset();
    if (policy) detector_.emplace(policy->detector, learners);
    const bool leaves = policy && policy->answer == StragglerPolicy::Answer::leave_out;
    left_out_.assign(leaves ? learners : 0, false);
    count_ = learners;
  }

  void saw(const GradientFacts& arrival) {
    if (detector_) detector_->saw(arrival.learner, arrival.computed);
  }

  bool any_straggler() const { return detector_ && detector_->any(); }
  /// Whether the next phase's protocol is to run.
  bool flees() const { return any_straggler() && !may_leave_out(); }

  bool may_leave_out() const { return !left_out_.empty(); }
  bool leaves_out(std::uint32_t learner) const { return may_leave_out() && left_out_[learner]; }
  std::uint32_t count() const { return count_; }

  /// All who take part are idle: stragglers leave, but not the last, and who is none any more comes
  /// back.  That is found when its gradient arrives, so it is idle too.
  void choose() {
    for (std::uint32_t learner = 0; learner < left_out_.size(); ++learner) {
      const bool before = left_out_[learner];
      const bool now = detector_->is_straggler(learner) && (before || count_ > 1);
      if (before && !now) ++count_;
      if (now && !before) --count_;
      left_out_[learner] = now;
    }
  }

 private:
  std::optional<StragglerDetector> detector_;
  std::vector<bool> left_out_;  // [learner]; empty: all take part whatever they are
  std::uint32_t count_ = 0;
};

}  // namespace gradrace
