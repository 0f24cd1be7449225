#include <algorithm>
#include <cmath>

#include "protocols/learning_rates/modifiers.h"
#include "protocols/learning_rates/work_unit.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "step",
    .definition = R"(eta times factor^n once n of the marks in `at` are passed, measured by work
done and never by updates: in epochs, in gradients or samples applied, or as fractions of the work
that `stop` allows.)",
    .source = "textbook step decay",
    .example =
        R"({"kind": "step", "eta": 0.1, "factor": 0.1, "at": [1000, 1500], "unit": "gradients"})"};

LearningRateProduct read(Fields& fields, const WorkBudget& budget) {
  double eta = 0, factor = 0.1;
  std::vector<double> at;
  fields.real("eta", eta, Need::required, positive(), "learning rate at the start");
  fields.real("factor", factor, Need::defaulted, positive(), "multiplies eta at each mark");
  fields.reals("at", at, Need::required, positive(), "marks, in `unit`");
  const WorkUnit unit(fields, budget, "what `at` counts");
  fields.idle("at", unit.is_fraction() && std::ranges::all_of(at, [](double x) { return x >= 1; }),
              "says nothing, as the run ends at 1, all of the work", "marks below 1");
  if (!fields.good()) return nullptr;
  std::ranges::sort(at);
  return make_learning_rate([=](const Work& work, std::uint32_t, std::uint32_t) {
    const auto passed = std::ranges::upper_bound(at, unit.count(work));
    return eta * std::pow(factor, static_cast<double>(passed - at.begin()));
  });
}

}  // namespace

extern const LearningRateEntry step_entry{page, modified<read>};

}  // namespace gradrace
