#include "sim/engine/uses_of_update.h"

#include <limits>

namespace gradrace {

namespace {

/// Of gradients of one update.
struct Rates {
  const LearningRate* rate;  // null: not known
  const Work& work;
  std::uint32_t gradients;

  double eta(std::uint32_t staleness) const {
    return rate ? rate->eta(work, staleness, gradients) : std::numeric_limits<double>::quiet_NaN();
  }
};

/// What each counts in their mean: its rows, where minibatches differ.
double part_of(const Race& race, bool by_rows, const GradientFacts& gradient) {
  return by_rows ? race.plans[gradient.plan].minibatch[gradient.learner] : 1.0;
}

}  // namespace

void list_uses(const Race& race, std::uint16_t plan, const Work& work,
               std::span<const GradientFacts> gradients, std::vector<Use>& uses) {
  const LearningRate* const known = race.plans[plan].learning_rate.get();
  const Rates rates{known, work, static_cast<std::uint32_t>(gradients.size())};
  const bool by_rows = race.counts_rows(), normalised = known && known->normalised();
  double parts = 0, sum = 0;
  for (const auto& gradient : gradients) {
    const double part = part_of(race, by_rows, gradient);
    parts += part;
    if (normalised) sum += part * rates.eta(gradient.staleness);
  }
  const double factor = sum > 0 ? parts * rates.eta(0) / sum : 1;
  uses.clear();
  for (const auto& gradient : gradients) {
    const Plan& made = race.plans[gradient.plan];
    const double rate = factor * rates.eta(gradient.staleness),
                 part = part_of(race, by_rows, gradient);
    uses.push_back({gradient.gradient, gradient.staleness, made.weight_of_use(rate, parts / part)});
  }
}

}  // namespace gradrace
