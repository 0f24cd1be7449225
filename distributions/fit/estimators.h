#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gradrace {

/// What a family's estimator makes of a sample.
struct FamilyEstimate {
  using Parameters = std::vector<std::pair<std::string, std::vector<double>>>;
  Parameters parameters;      // by key; a list where the key takes one
  int free_parameters = 0;    // that were estimated
  double log_likelihood = 0;  // of the sample, in its unit of time; NaN without a density
  std::string method;
  std::string refusal;  // else empty: why the family cannot be fitted
};

/// At least two different times > 0, and what several estimators need of them.
struct Sample {
  explicit Sample(std::span<const double> times);

  std::vector<double> times;  // ascending, divided by their mean
  double scale;               // the mean
  double n;
  double variance;  // of times; divisor n
  double mean_log;  // of times, <= 0
};

/// The estimator of one family of the catalog, of whole times.
struct Estimator {
  std::string_view family;
  FamilyEstimate (*estimate)(const Sample& sample);
};

/// Of families whose estimates are known, in the order of the catalog; likelihood.h searches for
/// those of others.
std::span<const Estimator> estimators();

}  // namespace gradrace
