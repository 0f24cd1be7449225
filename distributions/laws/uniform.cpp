#include <boost/random/generate_canonical.hpp>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/law.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "uniform",
    .definition =
        "Density 1 / (high - low) on low <= x <= high.  E[X_{k:n}] = low + (high - low) "
        "k / (n + 1).",
    .source = "the continuous uniform law",
    .example = R"({"distribution": "uniform", "low": 0.5, "high": 1.5})",
};

class Uniform final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("low", low_, Need::required, at_least(0), "left end of the support");
    fields.real("high", high_, Need::required, greater_than(low_),
                "right end of the support, greater than low");
    width_ = high_ - low_;
  }

  double sample(Stream& words) const override {
    return low_ + width_ * boost::random::generate_canonical<double, 53>(words);
  }
  double mean() const override { return low_ + width_ / 2; }
  double variance() const override { return width_ * width_ / 12; }
  double survival(double x) const override {
    if (x <= low_) return 1;
    return x >= high_ ? 0 : (high_ - x) / width_;
  }
  double quantile(double p) const override { return low_ + width_ * p; }
  double inverse_survival(double q) const override { return high_ - width_ * q; }
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    return low_ + width_ * (k / (n + 1.0));
  }
  Ageing ageing() const override { return Ageing::new_longer; }
  std::vector<double> breaks() const override { return {low_, high_}; }

 private:
  double low_ = 0, high_ = 1, width_ = 1;
};

}  // namespace

extern const DistributionEntry uniform_entry{page, read_distribution<Uniform>};

}  // namespace gradrace
