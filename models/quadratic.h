#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/model/model.h"

namespace gradrace {

/// F(w) = 1/2 sum_i c_i w_i^2 over w [d]; see the page in quadratic.cpp.
struct QuadraticConfig {
  std::uint64_t dimensions = 1;          // d
  std::vector<double> curvatures = {1};  // c_i = curvatures[i mod length], > 0
  double noise = 1;                      // sigma: sd of the gradient of one sample, all components
  double start = 1;                      // every component of w_0
  PerLearner minibatch = 1;              // m
  std::string precision = "float32";     // or float64
};

template <class Real>
std::unique_ptr<Model<Real>> make_quadratic(const QuadraticConfig& config);

}  // namespace gradrace
