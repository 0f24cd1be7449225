#include <algorithm>

#include "protocols/learning_rates/fresh_rate.h"
#include "protocols/learning_rates/modifiers.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "staleness",
    .definition = R"(eta / max(1, tau) for a gradient of staleness tau, applied to each gradient
before they are averaged.)",
    .source = "Zhang, Gupta, Lian, Liu, IJCAI 2016: staleness-aware learning rate",
    .example = R"({"kind": "staleness", "eta": 0.05})"};

LearningRateProduct read(Fields& fields, const WorkBudget& budget) {
  FreshRate fresh(fields, budget);
  if (!fields.good()) return nullptr;
  const auto eta = [fresh](const Work& work, std::uint32_t staleness, std::uint32_t gradients) {
    return fresh.eta(work, staleness, gradients) / std::max(1u, staleness);
  };
  return make_learning_rate(eta, fresh.distance());
}

}  // namespace

extern const LearningRateEntry staleness_entry{page, modified<read>};

}  // namespace gradrace
