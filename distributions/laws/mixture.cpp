#include "distributions/laws/mixture.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "distributions/ageing.h"
#include "distributions/catalog.h"
#include "distributions/integrand_budget.h"
#include "distributions/law.h"
#include "distributions/laws/weights.h"
#include "distributions/measured.h"
#include "distributions/quantile.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "mixture",
    .definition =
        "A draw from parts[i], i drawn with probability weights[i] / sum of weights.  A "
        "part is any distribution, a mixture too.",
    .source = "the finite mixture; P(X > x) is the weighted mean of the parts'",
    .example = R"({"distribution": "mixture", "weights": [0.9, 0.1], "parts": [
  {"distribution": "normal", "mean": 1.0, "sd": 0.1},
  {"distribution": "shifted-exponential", "shift": 1.0, "mean": 4.0}]})",
};

/// Probabilities at whose quantiles a part's step from 1 to 0 is framed.
constexpr double frame[] = {1e-9, 1e-6, 1e-3, 0.05, 0.5, 0.95, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9};

class Mixture final : public Law, public Measured {
 public:
  void visit(Fields& fields) {
    std::vector<double> weights;
    std::vector<DistributionProduct> parts;
    fields.reals("weights", weights, Need::required, positive(),
                 "of the parts, divided by their sum");
    read_kinds(fields, "parts", distribution_catalog(), parts, Need::required,
               "the distributions mixed");
    if (!fields.good()) return;
    if (parts.empty()) fields.complain("parts", "must be at least one");
    if (parts.size() != weights.size()) {
      fields.complain("weights", "must be as many as parts");
    }
    if (std::any_of(parts.begin(), parts.end(),
                    [](const auto& part) { return part->has_memory(); })) {
      fields.complain("parts", "must each be drawn independently",
                      "of an empirical part: mode bootstrap");
    }
    if (fields.good()) mix(weights, std::move(parts));
  }

  void mix(const std::vector<double>& weights, std::vector<DistributionProduct> parts) {
    weights_ = Weights(weights);
    parts_ = std::move(parts);
    for (const auto& part : parts_) {
      const auto more = breaks_of(*part);
      breaks_.insert(breaks_.end(), more.begin(), more.end());
      for (const double p : frame) breaks_.push_back(part->quantile(p));
    }
    std::sort(breaks_.begin(), breaks_.end());
    breaks_.erase(std::unique(breaks_.begin(), breaks_.end()), breaks_.end());
  }

  double sample(Stream& words) const override {
    return parts_[weights_.draw(words)]->sample(words);
  }
  double mean() const override {
    return weighted([](const Distribution& part) { return part.mean(); });
  }

  /// Mean of the parts' variances plus variance of the parts' means.
  double variance() const override {
    const double m = mean();
    return weighted([m](const Distribution& part) {
      const double off = part.mean() - m;
      return part.variance() + off * off;
    });
  }
  double survival(double x) const override {
    IntegrandBudget::charge(parts_.size());
    return std::min(1.0, weighted([x](const Distribution& part) { return part.survival(x); }));
  }
  double quantile(double p) const override {
    return place(1 - p, [p](const Distribution& part) { return part.quantile(p); });
  }
  double inverse_survival(double q) const override {
    return place(q, [q](const Distribution& part) { return part.inverse_survival(q); });
  }

  /// Memoryless parts are exponential laws: with one mean, the mixture is that law; with several,
  /// it is hyperexponential.  All others: from the survival function.
  Ageing ageing() const override {
    const bool all_exponential = std::all_of(parts_.begin(), parts_.end(), [](const auto& part) {
      return part->ageing() == Ageing::memoryless;
    });
    if (!all_exponential) return ageing_on_grid(*this);
    const bool one_mean = std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
      return part->mean() == parts_.front()->mean();
    });
    return one_mean ? Ageing::memoryless : Ageing::new_shorter;
  }
  std::vector<double> breaks() const override { return breaks_; }
  bool has_atoms() const override {
    return std::ranges::any_of(parts_, [](const auto& part) { return part->has_atoms(); });
  }
  std::vector<std::shared_ptr<const Trace>> traces() const override {
    std::vector<std::shared_ptr<const Trace>> all;
    for (const auto& part : parts_) {
      const auto traces = traces_of(*part);
      all.insert(all.end(), traces.begin(), traces.end());
    }
    return all;
  }

 private:
  /// Where survival falls to that, which of a part alone it does at of_part.
  template <class OfPart>
  double place(double survival, OfPart of_part) const {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const auto& part : parts_) {
      const double at = of_part(*part);
      low = std::min(low, at), high = std::max(high, at);
    }
    return survival == 1 || low == high ? low
                                        : inverse_survival_between(*this, survival, low, high);
  }

  template <class Value>
  double weighted(Value value) const {
    double sum = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) sum += weights_[i] * value(*parts_[i]);
    return sum;
  }

  Weights weights_;
  std::vector<DistributionProduct> parts_;
  std::vector<double> breaks_;
};

}  // namespace

DistributionProduct make_mixture(const std::vector<double>& weights,
                                 std::vector<DistributionProduct> parts) {
  auto mixture = std::make_shared<Mixture>();
  mixture->mix(weights, std::move(parts));
  return mixture;
}

extern const DistributionEntry mixture_entry{page, read_distribution<Mixture>};

}  // namespace gradrace
