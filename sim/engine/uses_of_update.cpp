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

/// Where rates are normalised; else 1.
double factor_of(const Rates& rates, std::span<const GradientFacts> gradients) {
  if (!rates.rate || !rates.rate->normalised()) return 1;
  double sum = 0;
  for (const auto& gradient : gradients) sum += rates.eta(gradient.staleness);
  return sum > 0 ? rates.gradients * rates.eta(0) / sum : 1;
}

}  // namespace

void list_uses(const Race& race, std::uint16_t plan, const Work& work,
               std::span<const GradientFacts> gradients, std::vector<Use>& uses) {
  const auto count = static_cast<std::uint32_t>(gradients.size());
  const Rates rates{race.plans[plan].learning_rate.get(), work, count};
  const double factor = factor_of(rates, gradients);
  uses.clear();
  for (const auto& gradient : gradients) {
    const Plan& made = race.plans[gradient.plan];
    uses.push_back({gradient.gradient, gradient.staleness,
                    made.weight_of_use(factor * rates.eta(gradient.staleness), count)});
  }
}

}  // namespace gradrace
