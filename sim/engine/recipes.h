#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/check.h"
#include "sim/engine/race.h"
#include "sim/tape.h"

namespace gradrace {

/// The recipes of a race's gradients: one for each plan, of its smallest minibatch, then those of
/// its others.
class Recipes {
 public:
  /// A gradient names no more.
  static constexpr std::size_t most = 65536;

  explicit Recipes(std::span<const Plan> plans) {
    for (const Plan& plan : plans) all_.push_back({plan.minibatch.least(), plan.clip});
    if (std::ranges::none_of(plans, &PerLearner::differs, &Plan::minibatch)) return;
    of_learners_.resize(plans.size());
    for (std::size_t plan = 0; plan < plans.size(); ++plan)
      if (plans[plan].minibatch.differs()) add(plan, plans[plan]);
    GRADRACE_CHECK(all_.size() <= most, "a gradient names one of 2^16 recipes");
  }

  const std::vector<Recipe>& all() const { return all_; }
  /// Of the learner's gradients by that plan.
  std::uint16_t of(std::uint16_t plan, std::uint32_t learner) const {
    if (of_learners_.empty() || of_learners_[plan].empty()) [[likely]]
      return plan;
    return of_learners_[plan][learner];
  }

 private:
  void add(std::size_t number, const Plan& plan) {
    const std::vector<std::uint32_t> sizes = plan.minibatch.different();
    const std::size_t others = all_.size();
    for (const std::uint32_t size : std::span(sizes).subspan(1)) all_.push_back({size, plan.clip});
    for (std::uint32_t learner = 0; learner < plan.minibatch.listed(); ++learner) {
      const auto size = std::ranges::lower_bound(sizes, plan.minibatch[learner]) - sizes.begin();
      const std::size_t recipe = size == 0 ? number : others + static_cast<std::size_t>(size) - 1;
      of_learners_[number].push_back(static_cast<std::uint16_t>(recipe));
    }
  }

  std::vector<Recipe> all_;
  std::vector<std::vector<std::uint16_t>> of_learners_;  // [plan][learner], where they differ
};

}  // namespace gradrace
