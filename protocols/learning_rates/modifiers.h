#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sim/learning_rate.h"

namespace gradrace {

/// The learning rate that a function gives as LearningRate::eta() has it, and what else it says.
template <class Eta>
LearningRateProduct make_learning_rate(Eta eta, double distance = 0, bool normalised = false) {
  class Made final : public LearningRate {
   public:
    Made(Eta eta, double distance, bool normalised)
        : eta_(std::move(eta)), distance_(distance), normalised_(normalised) {}
    double eta(const Work& work, std::uint32_t staleness, std::uint32_t gradients) const override {
      return eta_(work, staleness, gradients);
    }
    double distance() const override { return distance_; }
    bool normalised() const override { return normalised_; }

   private:
    const Eta eta_;
    const double distance_;
    const bool normalised_;
  };
  return std::make_shared<Made>(std::move(eta), distance, normalised);
}

/// The rate changed as the keys `scale`, `warm_up` and `normalise` of the open object say; every
/// kind has them.  Null after an error.
LearningRateProduct modify(Fields& fields, const WorkBudget& budget, LearningRateProduct rate);

/// The `read` of a kind's entry: what the kind reads, then its modifiers.
template <LearningRateProduct (*read)(Fields&, const WorkBudget&)>
LearningRateProduct modified(Fields& fields, const WorkBudget& budget) {
  return modify(fields, budget, read(fields, budget));
}

}  // namespace gradrace
