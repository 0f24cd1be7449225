#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/law.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "pareto",
    .definition =
        "Heavy tail: P(X > x) = (scale / x)^shape, x >= scale.  E[X] = scale shape / "
        "(shape - 1), so shape must be > 1; the variance is infinite for shape <= 2.",
    .source =
        "the Pareto law, type I; order statistics: Arnold, Pareto Distributions, 2nd ed. "
        "2015; Dutta et al., AISTATS 2018, write it Pareto(shape, scale)",
    .example = R"({"distribution": "pareto", "scale": 1.0, "shape": 2.0})",
};

class Pareto final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("scale", scale_, Need::required, positive(), "the smallest X");
    fields.real("shape", shape_, Need::required, greater_than(1),
                "tail exponent; the mean is infinite up to 1");
  }

  double sample(Stream& words) const override {
    return scale_ * std::exp(boost::random::exponential_distribution<double>()(words) / shape_);
  }
  double mean() const override { return scale_ * shape_ / (shape_ - 1); }
  double variance() const override {
    if (shape_ <= 2) return std::numeric_limits<double>::infinity();
    return scale_ * scale_ * shape_ / ((shape_ - 1) * (shape_ - 1) * (shape_ - 2));
  }
  double survival(double x) const override {
    return x <= scale_ ? 1 : std::pow(scale_ / x, shape_);
  }
  double quantile(double p) const override { return scale_ * std::exp(-std::log1p(-p) / shape_); }
  double inverse_survival(double q) const override {
    return scale_ * std::exp(-std::log(q) / shape_);
  }

  /// scale Gamma(n+1) Gamma(n-k+1-1/shape) / (Gamma(n-k+1) Gamma(n+1-1/shape))
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    const double a = 1 / shape_;
    return scale_ * boost::math::tgamma_delta_ratio(n + 1.0, -a) *
           boost::math::tgamma_delta_ratio(n - k + 1.0 - a, a);
  }
  Ageing ageing() const override { return Ageing::neither; }
  std::vector<double> breaks() const override { return {scale_}; }

 private:
  double scale_ = 1, shape_ = 2;
};

}  // namespace

extern const DistributionEntry pareto_entry{page, read_distribution<Pareto>};

}  // namespace gradrace
