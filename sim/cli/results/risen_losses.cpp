#include "sim/cli/results/risen_losses.h"

#include "sim/message_text.h"

namespace gradrace {

void RisenLosses::add(const Point& point, const RunResult& result) {
  ++runs_;
  if (!point.with_model() || !point.model->has_dataset()) return;
  if (result.status != Status::finished || !result.first_loss) return;
  constexpr double least_factor = 1.1;
  const double first = *result.first_loss, last = result.last.evaluation.loss;
  if (!(first > 0) || !(last >= least_factor * first)) return;
  if (risen_++ > 0 && last / first <= last_ / first_) return;
  label_ = point.label.text(), first_ = first, last_ = last;
}

std::string RisenLosses::text() const {
  if (risen_ == 0) return {};
  return "the loss of " + count_text(risen_, "run") + " of " + std::to_string(runs_) +
         " ended above where it began, furthest that of " + label_ + " (" +
         short_number(first_, 3) + " to " + short_number(last_, 3) +
         "): the learning rate is too large, or features are of very different size "
         "(\"standardise\" "
         "of csv and libsvm data; others are to be scaled in their files)";
}

}  // namespace gradrace
