#include "distributions/laws/largest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "distributions/ageing.h"
#include "distributions/law.h"
#include "distributions/measured.h"

namespace gradrace {
namespace {

/// Of X^2, whose order statistics alone are asked for.
class Squared final : public Law {
 public:
  explicit Squared(const Distribution& law) : law_(law) {}

  double sample(Stream& words) const override { return square(law_.sample(words)); }
  double mean() const override { return integrate_order_statistic(*this, 1, 1); }
  double variance() const override { return std::numeric_limits<double>::infinity(); }
  double survival(double x) const override { return x < 0 ? 1 : law_.survival(std::sqrt(x)); }
  double quantile(double p) const override { return square(law_.quantile(p)); }
  double inverse_survival(double q) const override { return square(law_.inverse_survival(q)); }
  Ageing ageing() const override { return Ageing::neither; }
  std::vector<double> breaks() const override {
    std::vector<double> breaks = breaks_of(law_);
    for (double& at : breaks) at = square(at);
    return breaks;
  }

 private:
  static double square(double x) { return x * x; }

  const Distribution& law_;
};

class Largest final : public Law, public Measured {
 public:
  Largest(DistributionProduct law, std::uint32_t n) : law_(std::move(law)), n_(n) {}

  double sample(Stream& words) const override {
    return law_->sample_order_statistic(n_, n_, words);
  }
  double mean() const override { return law_->expected_order_statistic(n_, n_); }
  double variance() const override {
    if (!std::isfinite(law_->variance())) return law_->variance();
    const double mean = this->mean();
    return std::max(0.0, Squared(*law_).expected_order_statistic(n_, n_) - mean * mean);
  }
  double survival(double x) const override {
    return -std::expm1(n_ * std::log1p(-law_->survival(x)));
  }
  double quantile(double p) const override { return law_->quantile(std::pow(p, 1.0 / n_)); }
  double inverse_survival(double q) const override {
    return law_->inverse_survival(-std::expm1(std::log1p(-q) / n_));
  }
  /// The largest of all is the largest of n times as many.
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    const std::uint64_t all = std::uint64_t{n} * n_;
    if (k < n || all > std::numeric_limits<std::uint32_t>::max())
      return Law::expected_order_statistic(k, n);
    const auto draws = static_cast<std::uint32_t>(all);
    return law_->expected_order_statistic(draws, draws);
  }
  Ageing ageing() const override { return ageing_on_grid(*this); }
  std::vector<double> breaks() const override { return breaks_of(*law_); }
  bool has_atoms() const override { return law_->has_atoms(); }
  std::vector<std::shared_ptr<const Trace>> traces() const override { return traces_of(*law_); }

 private:
  DistributionProduct law_;
  std::uint32_t n_;
};

}  // namespace

DistributionProduct largest(DistributionProduct law, std::uint32_t n) {
  if (n == 1 || law->variance() == 0) return law;
  return std::make_shared<Largest>(std::move(law), n);
}

}  // namespace gradrace
