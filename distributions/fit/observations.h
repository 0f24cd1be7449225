#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/distribution.h"

namespace gradrace {

/// Times that a law of a minibatch's time is fitted to.
struct Observations {
  std::vector<double> times;
  std::vector<bool> cancelled = {};  // [time]: the minibatch takes longer than that; empty: none is
  std::uint32_t slowest_of = 1;      // each time is the maximum of so many independent minibatches'

  bool whole() const { return cancelled.empty() && slowest_of == 1; }
  bool is_cancelled(std::size_t i) const { return !cancelled.empty() && cancelled[i]; }
};

/// The distribution function of observed times, at each that is a whole one, ascending.
struct MeasuredSteps {
  std::vector<double> times;      // some may be equal
  std::vector<double> below, at;  // just before and at the time
};

/// Where times are cancelled, by the product-limit estimator, which then may end below 1.
/// Source: Kaplan and Meier, Journal of the American Statistical Association 53, 1958.
MeasuredSteps measured_steps(const Observations& observed);

/// The greatest distance between the steps and the distribution function of the slowest of so many
/// draws of the law, between the first and the last step.
double kolmogorov_distance(const MeasuredSteps& steps, const Distribution& law,
                           std::uint32_t slowest_of);

}  // namespace gradrace
