#pragma once

#include <span>

namespace gradrace {

/// The mean of a sample, its standard deviation, and half of the mean's 95 % interval by Student's
/// t: t_{0.975, n-1} sd / sqrt(n).  NaN where there are too few values: no mean of none, no
/// interval of one.
struct SampleMean {
  double mean, sd, margin;

  explicit SampleMean(std::span<const double> values);
};

}  // namespace gradrace
