#include <cmath>

#include "protocols/learning_rates/fresh_rate.h"
#include "protocols/learning_rates/modifiers.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "staleness-exponential",
    .definition = R"(eta rho^tau for a gradient of staleness tau, applied to each gradient before
they are averaged.)",
    .source =
        "the exponential penalty of Chan, Lane, Interspeech 2014, as Zhang et al., IJCAI 2016, "
        "describe it; rho = exp(-kappa)",
    .example = R"({"kind": "staleness-exponential", "eta": 0.05, "rho": 0.9})"};

LearningRateProduct read(Fields& fields, const WorkBudget& budget) {
  FreshRate fresh(fields, budget);
  double rho = 0;
  fields.real("rho", rho, Need::required, {.low = 0, .high = 1, .low_allowed = false},
              "what is left of eta for each update that the gradient missed");
  if (!fields.good()) return nullptr;
  const auto eta = [=](const Work& work, std::uint32_t staleness, std::uint32_t gradients) {
    return fresh.eta(work, staleness, gradients) * std::pow(rho, staleness);
  };
  return make_learning_rate(eta, fresh.distance());
}

}  // namespace

extern const LearningRateEntry staleness_exponential_entry{page, modified<read>};

}  // namespace gradrace
