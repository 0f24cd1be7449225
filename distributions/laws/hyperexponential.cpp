#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/integrand_budget.h"
#include "distributions/law.h"
#include "distributions/laws/weights.h"
#include "distributions/quantile.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "hyperexponential",
    .definition =
        "Exponential with mean means[i], i drawn with probabilities[i]: P(X > x) = sum of "
        "probabilities[i] exp(-x / means[i]).  A new one is shorter than a used one.",
    .source = "the hyperexponential law; Dutta et al., AISTATS 2018, after Definition 3",
    .example =
        R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1], "means": [0.5, 5.5]})",
};

class Hyperexponential final : public Law {
 public:
  void visit(Fields& fields) {
    std::vector<double> p;
    fields.reals("probabilities", p, Need::required, {.low = 0, .high = 1, .low_allowed = false},
                 "of the parts; their sum is 1");
    fields.reals("means", means_, Need::required, positive(), "of the parts");
    if (!fields.good()) return;
    if (p.size() != means_.size()) {
      fields.complain("means", "must be as many as probabilities");
    }
    if (!(std::abs(std::accumulate(p.begin(), p.end(), 0.0) - 1) <= 1e-9)) {
      fields.complain("probabilities", "must sum to 1");
    }
    if (!fields.good()) return;
    probabilities_ = Weights(p);
    const auto ends = std::minmax_element(means_.begin(), means_.end());
    shortest_ = *ends.first;
    longest_ = *ends.second;
  }

  double sample(Stream& words) const override {
    const std::size_t i = probabilities_.draw(words);
    return means_[i] * boost::random::exponential_distribution<double>()(words);
  }
  double mean() const override {
    double sum = 0;
    for (std::size_t i = 0; i < means_.size(); ++i) sum += probabilities_[i] * means_[i];
    return sum;
  }

  /// Mean of the parts' variances plus variance of the parts' means.
  double variance() const override {
    const double m = mean();
    double sum = 0;
    for (std::size_t i = 0; i < means_.size(); ++i) {
      const double off = means_[i] - m;
      sum += probabilities_[i] * (means_[i] * means_[i] + off * off);
    }
    return sum;
  }
  double survival(double x) const override {
    if (x <= 0) return 1;
    IntegrandBudget::charge(means_.size());
    double sum = 0;
    for (std::size_t i = 0; i < means_.size(); ++i) {
      sum += probabilities_[i] * std::exp(-x / means_[i]);
    }
    return std::min(1.0, sum);
  }
  double quantile(double p) const override { return place(-std::log1p(-p), 1 - p); }
  double inverse_survival(double q) const override { return place(-std::log(q), q); }
  Ageing ageing() const override {
    return shortest_ == longest_ ? Ageing::memoryless : Ageing::new_shorter;
  }

 private:
  /// `unit`: that place of the exponential law of mean 1.
  double place(double unit, double survival) const {
    if (unit == 0) return 0;
    return inverse_survival_between(*this, survival, shortest_ * unit, longest_ * unit);
  }

  Weights probabilities_;
  std::vector<double> means_;
  double shortest_, longest_;
};

}  // namespace

extern const DistributionEntry hyperexponential_entry{page, read_distribution<Hyperexponential>};

}  // namespace gradrace
