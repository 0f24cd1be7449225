#include "protocols/learning_rates/work_unit.h"

#include <array>

namespace gradrace {

WorkUnit::WorkUnit(Fields& fields, const WorkBudget& budget, std::string_view meaning) {
  constexpr std::array<std::string_view, 4> units{"epochs", "gradients", "samples", "fraction"};
  std::string unit = "epochs";
  fields.choice("unit", unit, units, Need::defaulted, meaning);
  const bool fraction = is_fraction_ = unit == "fraction";
  if (unit == "epochs" && !budget.has_epochs) {
    fields.complain("unit", "the model has no training set, so there are no epochs",
                    "gradients, samples, fraction");
  }
  if (fraction && !budget.gradients && !budget.epochs) {
    fields.complain("unit", "a fraction of the work needs a limit on the work",
                    "stop.gradients or stop.epochs beside it");
  }
  const bool of_gradients = fraction && budget.gradients;
  if (of_gradients) size_ = static_cast<double>(*budget.gradients);
  if (fraction && !of_gradients) size_ = budget.epochs.value_or(1);
  if (unit == "samples") counted_ = Counted::samples;
  if (unit == "gradients" || of_gradients) counted_ = Counted::gradients;
}

}  // namespace gradrace
