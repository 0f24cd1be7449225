#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/generate_canonical.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <numbers>

#include "distributions/catalog.h"
#include "distributions/law.h"

namespace gradrace {
namespace {

using std::numbers::sqrt2;

constexpr Page page{
    .name = "normal",
    .definition =
        "A normal law of that mean and standard deviation sd, given that it is >= 0.  Both are "
        "those before truncation; after it, with a = -mean / sd and h = phi(a) / (1 - Phi(a)), "
        "E[X] = mean + sd h and Var[X] = sd^2 (1 + a h - h^2).  mean >= -5 sd.",
    .source =
        "the normal law truncated from below; Johnson, Kotz, Balakrishnan, Continuous "
        "Univariate Distributions 1, 2nd ed. 1994, chapter 13",
    .example = R"({"distribution": "normal", "mean": 1.0, "sd": 0.2})",
};

/// P(Z > z) of the standard normal law.
double upper_tail(double z) { return std::erfc(z / sqrt2) / 2; }

class Normal final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("mean", mu_, Need::required, anything(), "mean before truncation at 0");
    fields.real("sd", sd_, Need::required, positive(), "standard deviation before it");
    if (fields.good() && !(mu_ >= -5 * sd_)) {
      fields.complain("mean",
                      "must be at least -5 sd, or next to nothing is left after truncation");
    }
    a_ = -mu_ / sd_;
    kept_ = upper_tail(a_);
    hazard_ = std::exp(-a_ * a_ / 2) / std::sqrt(2 * std::numbers::pi) / kept_;
    rate_ = (a_ + std::sqrt(a_ * a_ + 4)) / 2;
  }

  /// Rejection: from the whole normal law where at least half of it is kept, else from an
  /// exponential law (Robert, Statistics and Computing 5, 1995).
  double sample(Stream& words) const override {
    if (mu_ < 0) return sample_tail(words);
    boost::random::normal_distribution<double> standard;
    double x;
    do {
      x = mu_ + sd_ * standard(words);
    } while (x < 0);
    return x;
  }
  double mean() const override { return mu_ + sd_ * hazard_; }
  double variance() const override { return sd_ * sd_ * (1 + hazard_ * (a_ - hazard_)); }
  double survival(double x) const override {
    return x <= 0 ? 1 : std::min(1.0, upper_tail((x - mu_) / sd_) / kept_);
  }
  double quantile(double p) const override { return place(p, 1 - p); }
  double inverse_survival(double q) const override { return place(1 - q, q); }
  Ageing ageing() const override { return Ageing::new_longer; }

 private:
  /// With p = P(X <= x) and q = 1 - p.
  double place(double p, double q) const {
    const double above = q * kept_;
    const double below = upper_tail(-a_) + p * kept_;
    if (below == 0) return 0;
    const double z = above < below ? sqrt2 * boost::math::erfc_inv(2 * above)
                                   : -sqrt2 * boost::math::erfc_inv(2 * below);
    return std::max(0.0, mu_ + sd_ * z);
  }

  double sample_tail(Stream& words) const {
    boost::random::exponential_distribution<double> exponential;
    while (true) {
      const double excess = exponential(words) / rate_;
      const double off = a_ + excess - rate_;
      if (boost::random::generate_canonical<double, 53>(words) <= std::exp(-off * off / 2)) {
        return sd_ * excess;
      }
    }
  }

  double mu_ = 1, sd_ = 1;
  double a_, kept_, hazard_, rate_;
};

}  // namespace

extern const DistributionEntry normal_entry{page, read_distribution<Normal>};

}  // namespace gradrace
