#include <boost/random/exponential_distribution.hpp>
#include <cmath>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/law.h"
#include "distributions/laws/gamma.h"
#include "distributions/laws/shifted.h"
#include "distributions/order_statistics.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "shifted-exponential",
    .definition =
        "A fixed part and a random one: P(X > x) = exp(-(x - shift) / mean), x >= shift. "
        " E[X] = shift + mean; E[X_{k:n}] = shift + mean (H_n - H_{n-k}).",
    .source = "the two-parameter exponential law; Dutta et al., AISTATS 2018, Fig. 5",
    .example = R"({"distribution": "shifted-exponential", "shift": 1.0, "mean": 1.0})",
};

class ShiftedExponential final : public Law {
 public:
  void visit(Fields& fields) {
    fields.real("shift", shift_, Need::required, at_least(0),
                "the fixed part; E[X] = shift + mean");
    fields.real("mean", mean_, Need::required, positive(),
                "of the exponential part alone; E[X] = shift + mean");
  }

  double sample(Stream& words) const override {
    return shift_ + mean_ * boost::random::exponential_distribution<double>()(words);
  }
  /// As the base's, but with calls of sample() that are inlined.
  void draws(const StreamName& first,
             std::span<double, StreamsOfDraws::size> times) const override {
    sample_each(*this, first, times);
  }
  double mean() const override { return shift_ + mean_; }
  double variance() const override { return mean_ * mean_; }
  double survival(double x) const override {
    return x <= shift_ ? 1 : std::exp(-(x - shift_) / mean_);
  }
  double quantile(double p) const override { return shift_ - mean_ * std::log1p(-p); }
  double inverse_survival(double q) const override { return shift_ - mean_ * std::log(q); }
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    return shift_ + mean_ * harmonic_difference(k, n);
  }
  Ageing ageing() const override { return shift_ > 0 ? Ageing::new_longer : Ageing::memoryless; }
  std::vector<double> breaks() const override { return {shift_}; }
  DistributionProduct sum(std::uint32_t n) const override {
    return shifted(make_gamma(n, mean_), n * shift_, 1);
  }

 private:
  double shift_ = 0, mean_ = 1;
};

}  // namespace

extern const DistributionEntry shifted_exponential_entry{page,
                                                         read_distribution<ShiftedExponential>};

}  // namespace gradrace
