#include <boost/random/exponential_distribution.hpp>
#include <cmath>

#include "distributions/catalog.h"
#include "distributions/law.h"
#include "distributions/laws/gamma.h"
#include "distributions/order_statistics.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "exponential",
    .definition =
        "P(X > x) = exp(-x / mean), x >= 0; memoryless.  E[X_{k:n}] = mean (H_n - "
        "H_{n-k}), H_n = 1 + 1/2 + ... + 1/n.",
    .source =
        "the exponential law; order statistics: Renyi 1953; Dutta et al., AISTATS 2018, "
        "Lemma 3",
    .example = R"({"distribution": "exponential", "mean": 1.0})",
};

class Exponential final : public Law {
 public:
  void visit(Fields& fields) { fields.real("mean", mean_, Need::required, positive(), "E[X]"); }

  double sample(Stream& words) const override {
    return mean_ * boost::random::exponential_distribution<double>()(words);
  }
  /// As the base's.  Boost's ziggurat (8 bits choose one of 256 layers, 53 bits are the uniform
  /// number, of two words) takes its first try in 98 % of the draws, which is inlined here.
  void draws(const StreamName& first,
             std::span<double, StreamsOfDraws::size> times) const override {
    const double* const layers = boost::random::detail::exponential_table<double>::table_x;
    const StreamsOfDraws streams(first);
    for (std::uint32_t i = 0; i < times.size(); ++i) {
      const std::uint32_t high = streams.word(0, i), low = streams.word(1, i);
      const std::uint32_t layer = high & 255;
      const double place = ((high >> 8) * 0x1p-24 + (low & 0x1fffffff)) * 0x1p-29;
      const double x = place * layers[layer];
      if (x < layers[layer + 1]) [[likely]] {
        times[i] = mean_ * x;
      } else {
        Stream words = streams[i];
        times[i] = sample(words);
      }
    }
  }
  double mean() const override { return mean_; }
  double variance() const override { return mean_ * mean_; }
  double survival(double x) const override { return x <= 0 ? 1 : std::exp(-x / mean_); }
  double quantile(double p) const override { return -mean_ * std::log1p(-p); }
  double inverse_survival(double q) const override { return -mean_ * std::log(q); }
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    return mean_ * harmonic_difference(k, n);
  }
  Ageing ageing() const override { return Ageing::memoryless; }
  DistributionProduct sum(std::uint32_t n) const override { return make_gamma(n, mean_); }

 private:
  double mean_ = 1;
};

}  // namespace

extern const DistributionEntry exponential_entry{page, read_distribution<Exponential>};

}  // namespace gradrace
