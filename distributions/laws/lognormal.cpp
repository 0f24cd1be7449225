#include <boost/math/special_functions/erf.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <numbers>

#include "distributions/catalog.h"
#include "distributions/law.h"
#include "distributions/laws/mean_and_cv.h"

namespace gradrace {
namespace {

using std::numbers::sqrt2;

constexpr Page page{
    .name = "lognormal",
    .definition =
        "log X is normal with mean mu and standard deviation sigma.  E[X] = exp(mu + "
        "sigma^2 / 2); the median is exp(mu).  By mean and cv: sigma^2 = log(1 + cv^2), mu = "
        "log(mean) - sigma^2 / 2.",
    .source =
        "the lognormal law; Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions "
        "1, 2nd ed. 1994, chapter 14",
    .example = R"({"distribution": "lognormal", "mu": 0.0, "sigma": 0.5})",
};

class Lognormal final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("mu", mu_, Need::none, between(-300, 300), "mean of log X");
    fields.real("sigma", sigma_, Need::none, {.low = 0, .high = 10, .low_allowed = false},
                "standard deviation of log X");
    const auto moments = visit_mean_and_cv(fields, {"mu", "sigma"}, 1e6);
    if (!moments) return;
    const double variance_of_log = std::log1p(moments->cv * moments->cv);
    sigma_ = std::sqrt(variance_of_log);
    mu_ = std::log(moments->mean) - variance_of_log / 2;
  }

  double sample(Stream& words) const override {
    return std::exp(mu_ + sigma_ * boost::random::normal_distribution<double>()(words));
  }
  double mean() const override { return std::exp(mu_ + sigma_ * sigma_ / 2); }
  double variance() const override { return mean() * mean() * std::expm1(sigma_ * sigma_); }
  double survival(double x) const override {
    return x <= 0 ? 1 : std::erfc((std::log(x) - mu_) / (sigma_ * sqrt2)) / 2;
  }
  double quantile(double p) const override {
    if (p == 0) return 0;
    const double z = p < 0.5 ? -boost::math::erfc_inv(2 * p) : boost::math::erfc_inv(2 * (1 - p));
    return std::exp(mu_ + sigma_ * sqrt2 * z);
  }
  double inverse_survival(double q) const override {
    return q == 1 ? 0 : std::exp(mu_ + sigma_ * sqrt2 * boost::math::erfc_inv(2 * q));
  }

  /// The hazard rate starts at 0, so a new one lasts longer than one of a small age; it falls to 0
  /// in the end, so one of a great age lasts longer than a new one.
  Ageing ageing() const override { return Ageing::neither; }

 private:
  double mu_ = 0, sigma_ = 1;
};

}  // namespace

extern const DistributionEntry lognormal_entry{page, read_distribution<Lognormal>};

}  // namespace gradrace
