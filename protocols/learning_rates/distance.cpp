#include "protocols/learning_rates/modifiers.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "distance",
    .definition = R"(min(c / ||w_j - w_tau||^2, eta_max) for a gradient computed at w_tau that
enters the update of w_j, applied to each gradient before they are averaged; eta_max at no
distance.  The learning rate of an evaluation is the mean over the gradients used since the one
before.)",
    .source =
        "Dutta, Joshi, Ghosh, Dube, Nagpurkar, AISTATS 2018, eq. 13 (there one gradient an "
        "update)",
    .example = R"({"kind": "distance", "c": 5e-5, "eta_max": 0.01})"};

LearningRateProduct read(Fields& fields, const WorkBudget&) {
  double c = 0, eta_max = 0;
  fields.real("c", c, Need::required, positive(),
              "learning rate times squared distance, at most; of the order of the error wanted");
  fields.real("eta_max", eta_max, Need::required, positive(), "learning rate, at most");
  if (!fields.good()) return nullptr;
  return make_learning_rate(
      [eta_max](const Work&, std::uint32_t, std::uint32_t) { return eta_max; }, c / eta_max);
}

}  // namespace

extern const LearningRateEntry distance_entry{page, modified<read>};

}  // namespace gradrace
