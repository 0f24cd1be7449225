#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "distributions/cluster/persistence.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "ar1",
    .definition =
        "Times are multiplied by exp(a_n - sd^2 / 2), whose mean is 1: a_n is a stationary "
        "Gaussian process, a step a minibatch, of mean 0, standard deviation `sd` and lag-1 "
        "correlation `correlation`: a_{n+1} = correlation a_n + sd sqrt(1 - correlation^2) z_n, "
        "z_n standard normal.  The factors of minibatches n apart are correlated "
        "(exp(correlation^n sd^2) - 1) / (exp(sd^2) - 1); with correlation 1 each learner has "
        "one factor for ever.",
    .source = "the Gaussian autoregressive process of order 1",
    .example = R"({"kind": "ar1", "correlation": 0.9, "sd": 0.3})",
};

/// States: a_n.
class Ar1 final : public Persistence {
 public:
  Ar1(double correlation, double sd)
      : correlation_(correlation),
        sd_(sd),
        innovation_(sd * std::sqrt(1 - correlation * correlation)) {}

  double first(Stream& words) const override { return sd_ * standard_normal(words); }
  double next(double state, Stream& words) const override {
    return correlation_ * state + innovation_ * standard_normal(words);
  }
  double factor(double state) const override { return std::exp(state - sd_ * sd_ / 2); }

 private:
  static double standard_normal(Stream& words) {
    return boost::random::normal_distribution<double>()(words);
  }

  double correlation_, sd_, innovation_;
};

PersistenceProduct read(Fields& fields) {
  double correlation = 0, sd = 0;
  fields.real("correlation", correlation, Need::required, between(-1, 1),
              "of the logarithms of a learner's factor and its next");
  fields.real("sd", sd, Need::required, at_least(0),
              "standard deviation of the logarithm of the factor");
  if (!fields.good()) return nullptr;
  return std::make_shared<Ar1>(correlation, sd);
}

}  // namespace

extern const PersistenceEntry ar1_entry{page, read};

}  // namespace gradrace
