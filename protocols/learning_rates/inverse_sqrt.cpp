#include <cmath>

#include "protocols/learning_rates/modifiers.h"
#include "protocols/learning_rates/work_unit.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "inverse-sqrt",
    .definition = R"(eta / sqrt(1 + n / after) once n of the work is done: in epochs, in gradients
or samples applied, or as a fraction of the work that `stop` allows.)",
    .source = "the steps sigma / sqrt(t) of Ho et al., NIPS 2013, made finite at the start",
    .example = R"({"kind": "inverse-sqrt", "eta": 0.1, "after": 1000, "unit": "gradients"})"};

LearningRateProduct read(Fields& fields, const WorkBudget& budget) {
  double eta = 0, after = 0;
  fields.real("eta", eta, Need::required, positive(), "learning rate at the start");
  fields.real("after", after, Need::required, positive(),
              "work, in `unit`, after which the rate is eta / sqrt(2)");
  const WorkUnit unit(fields, budget, "what `after` counts");
  if (!fields.good()) return nullptr;
  return make_learning_rate([=](const Work& work, std::uint32_t, std::uint32_t) {
    return eta / std::sqrt(1 + unit.count(work) / after);
  });
}

}  // namespace

extern const LearningRateEntry inverse_sqrt_entry{page, modified<read>};

}  // namespace gradrace
