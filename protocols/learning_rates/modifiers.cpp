#include "protocols/learning_rates/modifiers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "protocols/learning_rates/work_unit.h"

namespace gradrace {

namespace {

/// A factor that rises with the work, in a straight line from `from` to 1.
struct WarmUp {
  double length;  // in the unit
  double from;
  WorkUnit unit;

  double factor(const Work& work) const {
    return from + (1 - from) * std::min(1.0, unit.count(work) / length);
  }
};

std::optional<WarmUp> read_warm_up(Fields& fields, const WorkBudget& budget) {
  if (!fields.open("warm_up", Need::none,
                   "multiplies by a factor that rises in a straight line to 1"))
    return {};
  double length = 0, from = 0;
  fields.real("length", length, Need::required, positive(), "work, in `unit`, until it is 1");
  fields.real("from", from, Need::defaulted, between(0, 1), "the factor at the start");
  const WorkUnit unit(fields, budget, "what `length` counts");
  fields.close();
  return WarmUp{length, from, unit};
}

class Modified final : public LearningRate {
 public:
  Modified(LearningRateProduct rate, const std::string& scale, const std::optional<WarmUp>& warm_up)
      : rate_(std::move(rate)),
        power_(scale == "linear" ? 1
               : scale == "sqrt" ? 0.5
                                 : 0),
        warm_up_(warm_up) {}

  double eta(const Work& work, std::uint32_t staleness, std::uint32_t gradients) const override {
    return rate_->eta(work, staleness, gradients) * std::pow(gradients, power_) *
           (warm_up_ ? warm_up_->factor(work) : 1);
  }
  double distance() const override { return rate_->distance(); }

 private:
  LearningRateProduct rate_;
  double power_;
  std::optional<WarmUp> warm_up_;
};

}  // namespace

LearningRateProduct modify(Fields& fields, const WorkBudget& budget, LearningRateProduct rate) {
  constexpr std::array<std::string_view, 3> scales{"none", "linear", "sqrt"};
  std::string scale = "none";
  fields.choice(
      "scale", scale, scales, Need::defaulted,
      "multiplies by the number of gradients that move a value at once (Chen et al., 2016), or its "
      "root (Gupta et al., ICDM 2016), so that eta is the rate of one: those of an update; without "
      "a server one, unless learners have one value");
  const auto warm_up = read_warm_up(fields, budget);
  if (!fields.good() || !rate) return nullptr;
  if (scale == "none" && !warm_up) return rate;
  return std::make_shared<Modified>(std::move(rate), scale, warm_up);
}

}  // namespace gradrace
