#include <boost/random/generate_canonical.hpp>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/law.h"
#include "distributions/order_statistics.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "two-point",
    .definition =
        "X = high with that probability p, else low.  E[X_{k:n}] = low + (high - low) "
        "P(at least n - k + 1 of n are high).",
    .source = "the two-point law; order statistics from the binomial tail",
    .example = R"({"distribution": "two-point", "low": 1.0, "high": 10.0, "probability": 0.1})",
};

class TwoPoint final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("low", low_, Need::required, at_least(0), "the usual X");
    fields.real("high", high_, Need::required, greater_than(low_),
                "the X of a straggler, greater than low");
    fields.real("probability", p_, Need::required, between(0, 1), "of high");
    if (!fields.good()) return;
    if (low_ == 0 && p_ == 0) {
      fields.complain("probability", "must be greater than 0 where low is 0: X would never last");
    }
  }

  double sample(Stream& words) const override {
    return boost::random::generate_canonical<double, 53>(words) < p_ ? high_ : low_;
  }
  double mean() const override { return low_ + (high_ - low_) * p_; }
  double variance() const override { return (high_ - low_) * (high_ - low_) * p_ * (1 - p_); }
  double survival(double x) const override {
    if (x < low_) return 1;
    return x < high_ ? p_ : 0;
  }
  double quantile(double p) const override { return p_ < 1 && p <= 1 - p_ ? low_ : high_; }
  double inverse_survival(double q) const override { return p_ < 1 && p_ <= q ? low_ : high_; }
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    return low_ + (high_ - low_) * at_least_k_of_n(n - k + 1, n, p_);
  }

  /// Where both values occur: one that has lasted low lasts high - low more, a new one perhaps only
  /// low, so the new one is the longer if and only if high <= 2 low.  It is never the shorter, as
  /// nothing lasts beyond high.
  Ageing ageing() const override {
    const bool one_value = p_ == 0 || p_ == 1;
    return one_value || 2 * low_ >= high_ ? Ageing::new_longer : Ageing::neither;
  }
  std::vector<double> breaks() const override { return {low_, high_}; }

 private:
  double low_ = 0, high_ = 1, p_ = 0;
};

}  // namespace

extern const DistributionEntry two_point_entry{page, read_distribution<TwoPoint>};

}  // namespace gradrace
