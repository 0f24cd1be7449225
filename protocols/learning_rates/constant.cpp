#include "protocols/learning_rates/modifiers.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "constant",
                    .definition = "The same eta for every gradient.",
                    .source = "textbook SGD",
                    .example = R"({"kind": "constant", "eta": 0.05})"};

LearningRateProduct read(Fields& fields, const WorkBudget&) {
  double eta = 0;
  fields.real("eta", eta, Need::required, positive(), "learning rate of the average gradient");
  if (!fields.good()) return nullptr;
  return make_learning_rate([eta](const Work&, std::uint32_t, std::uint32_t) { return eta; });
}

}  // namespace

extern const LearningRateEntry constant_entry{page, modified<read>};

}  // namespace gradrace
