#include "protocols/learning_rates/modifiers.h"

#include <algorithm>
#include <array>
#include <cmath>

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

bool read_normalise(Fields& fields, const LearningRateProduct& rate) {
  bool normalise = false;
  fields.flag("normalise", normalise, Need::defaulted,
              "weights of an update's gradients are multiplied by one factor, so that they sum to "
              "the rate of a fresh one");
  fields.idle("normalise", normalise && rate && !rate->differs(),
              "says nothing, as all gradients have one rate", "false, or a rate by staleness");
  if (normalise && rate && rate->distance() > 0)
    fields.complain("normalise", "is for rates that are known before gradients are, by staleness",
                    "false");
  return normalise;
}

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
  const bool normalise = read_normalise(fields, rate);
  if (!fields.good() || !rate) return nullptr;
  if (scale == "none" && !warm_up && !normalise) return rate;
  const double power = scale == "linear" ? 1 : scale == "sqrt" ? 0.5 : 0;
  const auto eta = [=](const Work& work, std::uint32_t staleness, std::uint32_t gradients) {
    return rate->eta(work, staleness, gradients) * std::pow(gradients, power) *
           (warm_up ? warm_up->factor(work) : 1);
  };
  return make_learning_rate(eta, rate->distance(), normalise);
}

}  // namespace gradrace
