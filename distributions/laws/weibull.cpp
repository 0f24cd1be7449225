#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <cmath>

#include "distributions/catalog.h"
#include "distributions/law.h"
#include "distributions/order_statistics.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "weibull",
    .definition =
        "P(X > x) = exp(-(x / scale)^shape), x >= 0.  E[X] = scale Gamma(1 + 1/shape); "
        "shape 1 is the exponential law, below 1 the tail is heavier, above 1 lighter.",
    .source =
        "the Weibull law; Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions "
        "1, 2nd ed. 1994, chapter 21",
    .example = R"({"distribution": "weibull", "scale": 1.0, "shape": 1.5})",
};

class Weibull final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("scale", scale_, Need::required, positive(), "the quantile of 1 - 1/e");
    fields.real("shape", shape_, Need::required, at_least(0.02), "the exponent");
    mean_ = scale_ * std::tgamma(1 + 1 / shape_);
  }

  double sample(Stream& words) const override {
    return scale_ * std::pow(boost::random::exponential_distribution<double>()(words), 1 / shape_);
  }
  double mean() const override { return mean_; }

  /// Gamma(1 + 2a) - Gamma(1 + a)^2, a = 1/shape, without its cancellation at small a.
  double variance() const override {
    const double a = 1 / shape_;
    const double log_ratio =
        std::log1p(boost::math::tgamma1pm1(2 * a)) - 2 * std::log1p(boost::math::tgamma1pm1(a));
    return mean_ * mean_ * std::expm1(log_ratio);
  }
  double survival(double x) const override {
    return x <= 0 ? 1 : std::exp(-std::pow(x / scale_, shape_));
  }
  double quantile(double p) const override {
    return scale_ * std::pow(-std::log1p(-p), 1 / shape_);
  }
  double inverse_survival(double q) const override {
    return scale_ * std::pow(-std::log(q), 1 / shape_);
  }

  /// The smallest of n is a Weibull law again; the sum for the others cancels.
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    if (k == 1) return mean_ * std::pow(n, -1 / shape_);
    return integrate_order_statistic(*this, k, n);
  }
  Ageing ageing() const override {
    if (shape_ == 1) return Ageing::memoryless;
    return shape_ > 1 ? Ageing::new_longer : Ageing::new_shorter;
  }

 private:
  double scale_ = 1, shape_ = 1, mean_ = 1;
};

}  // namespace

extern const DistributionEntry weibull_entry{page, read_distribution<Weibull>};

}  // namespace gradrace
