#include "sim/cli/results/sample_mean.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace gradrace {

SampleMean::SampleMean(std::span<const double> values) {
  mean = sd = margin = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(values.size());
  if (values.empty()) return;
  mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return;
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  sd = std::sqrt(squares / (n - 1));
  const boost::math::students_t law(n - 1);
  margin = boost::math::quantile(law, 0.975) * sd / std::sqrt(n);
}

}  // namespace gradrace
