#include "distributions/laws/shifted.h"

#include <utility>
#include <vector>

#include "distributions/ageing.h"
#include "distributions/law.h"
#include "distributions/measured.h"

namespace gradrace {
namespace {

class Shifted final : public Law, public Measured {
 public:
  Shifted(DistributionProduct law, double shift, double speed)
      : law_(std::move(law)), shift_(shift), speed_(speed) {}

  double sample(Stream& words) const override { return moved(law_->sample(words)); }
  double mean() const override { return moved(law_->mean()); }
  double variance() const override { return law_->variance() / (speed_ * speed_); }
  double survival(double x) const override { return law_->survival(x * speed_ - shift_); }
  double quantile(double p) const override { return moved(law_->quantile(p)); }
  double inverse_survival(double q) const override { return moved(law_->inverse_survival(q)); }
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    return moved(law_->expected_order_statistic(k, n));
  }

  /// Speed is a unit of time.  A shift keeps new_longer, because S(u + t) <= S(u) S(t) and S falls;
  /// the exponential law becomes that, every other law becomes what its survival function says.
  Ageing ageing() const override {
    const Ageing ageing = law_->ageing();
    if (shift_ == 0 || ageing == Ageing::new_longer) return ageing;
    return ageing == Ageing::memoryless ? Ageing::new_longer : ageing_on_grid(*this);
  }
  std::vector<double> breaks() const override {
    std::vector<double> breaks{shift_ / speed_};
    for (const double at : breaks_of(*law_)) {
      if (at > 0) breaks.push_back(moved(at));
    }
    return breaks;
  }
  std::vector<std::shared_ptr<const Trace>> traces() const override { return traces_of(*law_); }
  DistributionProduct sum(std::uint32_t n) const override {
    const auto sum = law_->sum(n);
    return sum ? shifted(sum, n * shift_, speed_) : nullptr;
  }

 private:
  double moved(double x) const { return (shift_ + x) / speed_; }

  DistributionProduct law_;
  double shift_, speed_;
};

}  // namespace

DistributionProduct shifted(DistributionProduct law, double shift, double speed) {
  return std::make_shared<Shifted>(std::move(law), shift, speed);
}

}  // namespace gradrace
