#include <cmath>

#include "protocols/learning_rates/fresh_rate.h"
#include "protocols/learning_rates/modifiers.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "staleness-root",
    .definition = R"(eta / sqrt(1 + tau) for a gradient of staleness tau, applied to each gradient
before they are averaged.)",
    .source = "FedBuff: Nguyen et al., AISTATS 2022; the polynomial of Xie, Koyejo, Gupta, 2019",
    .example = R"({"kind": "staleness-root", "eta": 0.05})"};

LearningRateProduct read(Fields& fields, const WorkBudget& budget) {
  FreshRate fresh(fields, budget);
  if (!fields.good()) return nullptr;
  const auto eta = [fresh](const Work& work, std::uint32_t staleness, std::uint32_t gradients) {
    return fresh.eta(work, staleness, gradients) / std::sqrt(1.0 + staleness);
  };
  return make_learning_rate(eta, fresh.distance());
}

}  // namespace

extern const LearningRateEntry staleness_root_entry{page, modified<read>};

}  // namespace gradrace
