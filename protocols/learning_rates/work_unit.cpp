#include "protocols/learning_rates/work_unit.h"

#include <array>

namespace gradrace {

WorkUnit::WorkUnit(Fields& fields, const WorkBudget& budget, std::string_view meaning) {
  constexpr std::array<std::string_view, 3> units{"epochs", "gradients", "fraction"};
  std::string unit = "epochs";
  fields.choice("unit", unit, units, Need::defaulted, meaning);
  const bool fraction = unit == "fraction";
  if (unit == "epochs" && !budget.has_epochs) {
    fields.complain("unit", "the model has no training set, so there are no epochs",
                    "gradients, fraction");
  }
  if (fraction && !budget.gradients && !budget.epochs) {
    fields.complain("unit", "a fraction of the work needs a limit on the work",
                    "stop.gradients or stop.epochs beside it");
  }
  by_gradients_ = unit == "gradients" || (fraction && budget.gradients);
  if (fraction) {
    size_ = by_gradients_ ? static_cast<double>(budget.gradients.value_or(1))
                          : budget.epochs.value_or(1);
  }
}

}  // namespace gradrace
