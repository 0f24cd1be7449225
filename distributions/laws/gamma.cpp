#include "distributions/laws/gamma.h"

#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/gamma_distribution.hpp>

#include "distributions/law.h"
#include "distributions/laws/mean_and_cv.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "gamma",
    .definition =
        "Density x^(shape - 1) exp(-x / scale) / (Gamma(shape) scale^shape), x >= 0.  "
        "E[X] = shape scale; shape 1 is the exponential law, an integer shape the sum of "
        "that many (Erlang).  By mean and cv: shape = 1 / cv^2, scale = mean cv^2.",
    .source =
        "the gamma law; Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions 1, "
        "2nd ed. 1994, chapter 17",
    .example = R"({"distribution": "gamma", "shape": 2.0, "scale": 0.5})",
};

/// Boost's way to a lower tail that is 0 in a double leads over a Gamma(shape) that is none.
using Policy = boost::math::policies::policy<
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;

class Gamma final : public Law {
 public:
  Gamma() = default;
  Gamma(double shape, double scale) : shape_(shape), scale_(scale), unit_(shape) {}

  void visit(Fields& fields) {
    fields.real("shape", shape_, Need::none, at_least(0.01), "the exponent, plus 1");
    fields.real("scale", scale_, Need::none, positive(), "unit of x; E[X] = shape scale");
    if (const auto moments = visit_mean_and_cv(fields, {"shape", "scale"}, 10)) {
      const double squared_cv = moments->cv * moments->cv;
      shape_ = 1 / squared_cv;
      scale_ = moments->mean * squared_cv;
    }
    if (fields.good()) unit_ = boost::random::gamma_distribution<double>(shape_);
  }

  double sample(Stream& words) const override {
    auto unit = unit_;
    return scale_ * unit(words);
  }
  double mean() const override { return shape_ * scale_; }
  double variance() const override { return shape_ * scale_ * scale_; }
  double survival(double x) const override {
    return x <= 0 ? 1 : boost::math::gamma_q(shape_, x / scale_, Policy());
  }
  double quantile(double p) const override {
    return scale_ * (p < 0.5 ? boost::math::gamma_p_inv(shape_, p)
                             : boost::math::gamma_q_inv(shape_, 1 - p));
  }
  double inverse_survival(double q) const override {
    return q == 1 ? 0 : scale_ * boost::math::gamma_q_inv(shape_, q);
  }
  Ageing ageing() const override {
    if (shape_ == 1) return Ageing::memoryless;
    return shape_ > 1 ? Ageing::new_longer : Ageing::new_shorter;
  }
  DistributionProduct sum(std::uint32_t n) const override { return make_gamma(n * shape_, scale_); }

 private:
  double shape_ = 1, scale_ = 1;
  boost::random::gamma_distribution<double> unit_;
};

}  // namespace

DistributionProduct make_gamma(double shape, double scale) {
  return std::make_shared<Gamma>(shape, scale);
}

extern const DistributionEntry gamma_entry{page, read_distribution<Gamma>};

}  // namespace gradrace
