#pragma once

#include "sim/learning_rate.h"

namespace gradrace {

/// The learning rate that a rule of staleness lowers, given by one of the keys `eta` and `schedule`
/// (any learning rate).
class FreshRate {
 public:
  /// Reads the two keys of the open object; complains unless it has one of them.
  FreshRate(Fields& fields, const WorkBudget& budget);

  double eta(const Work& work, std::uint32_t staleness, std::uint32_t gradients) const {
    return schedule_ ? schedule_->eta(work, staleness, gradients) : eta_;
  }
  double distance() const { return schedule_ ? schedule_->distance() : 0; }

 private:
  double eta_ = 0;
  LearningRateProduct schedule_;
};

}  // namespace gradrace
