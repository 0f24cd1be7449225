#include <algorithm>
#include <array>
#include <cmath>

#include "sim/learning_rate.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "step",
    .definition =
        "eta times factor^n once n of the marks in `at` are passed, measured by work done and "
        "never by updates: in epochs, in "
        "gradients applied, or as fractions of the work that `stop` allows.",
    .source = "textbook step decay",
    .example =
        R"({"kind": "step", "eta": 0.1, "factor": 0.1, "at": [1000, 1500], "unit": "gradients"})"};

constexpr std::array<std::string_view, 3> units{"epochs", "gradients", "fraction"};

struct Config {
  double eta = 0;
  double factor = 0.1;
  std::vector<double> at;
  std::string unit = "epochs";
};

class Step final : public LearningRate {
 public:
  /// `at` in gradients if `by_gradients`, else in epochs.
  Step(const Config& config, bool by_gradients) : config_(config), by_gradients_(by_gradients) {
    std::sort(config_.at.begin(), config_.at.end());
  }

  double eta(const Work& work, std::uint32_t) const override {
    const double done = by_gradients_ ? static_cast<double>(work.gradients) : work.epochs;
    const auto passed = std::upper_bound(config_.at.begin(), config_.at.end(), done);
    return config_.eta * std::pow(config_.factor, static_cast<double>(passed - config_.at.begin()));
  }

 private:
  Config config_;
  bool by_gradients_;
};

LearningRateProduct read(Fields& fields, const WorkBudget& budget) {
  Config config;
  fields.real("eta", config.eta, Need::required, positive(), "learning rate at the start");
  fields.real("factor", config.factor, Need::defaulted, positive(), "multiplies eta at each mark");
  fields.reals("at", config.at, Need::required, positive(), "marks, in `unit`");
  fields.choice("unit", config.unit, units, Need::defaulted, "what `at` counts");
  const bool fraction = config.unit == "fraction";
  if (config.unit == "epochs" && !budget.has_epochs) {
    fields.complain("unit", "the model has no training set, so there are no epochs",
                    "gradients, fraction");
  }
  if (fraction && !budget.gradients && !budget.epochs) {
    fields.complain("unit", "a fraction of the work needs a limit on the work",
                    "stop.gradients or stop.epochs beside it");
  }
  if (!fields.good()) return nullptr;
  const bool by_gradients = config.unit == "gradients" || (fraction && budget.gradients);
  if (fraction) {
    const double whole = by_gradients ? static_cast<double>(*budget.gradients) : *budget.epochs;
    for (double& mark : config.at) mark *= whole;
  }
  return std::make_shared<Step>(config, by_gradients);
}

}  // namespace

extern const LearningRateEntry step_entry{page, read};

}  // namespace gradrace
