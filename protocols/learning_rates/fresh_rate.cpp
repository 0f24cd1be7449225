#include "protocols/learning_rates/fresh_rate.h"

#include "protocols/catalog.h"

namespace gradrace {

FreshRate::FreshRate(Fields& fields, const WorkBudget& budget) {
  std::optional<double> eta;
  fields.real("eta", eta, positive(), "learning rate of a fresh gradient");
  read_kind<LearningRateProduct, const WorkBudget&>(
      fields, "schedule", learning_rate_catalog(), schedule_, Need::none,
      "instead of eta: the learning rate that is lowered", budget);
  if (fields.has("eta") == fields.has("schedule")) {
    fields.complain(fields.has("eta") ? "schedule" : "eta",
                    "a fresh gradient needs one learning rate", "either eta or schedule");
  }
  if (schedule_ && schedule_->normalised())
    fields.complain("schedule.normalise", "is for the whole rate", "normalise beside schedule");
  eta_ = eta.value_or(0);
}

}  // namespace gradrace
