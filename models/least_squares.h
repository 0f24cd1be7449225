#pragma once

#include <memory>
#include <optional>

#include "models/supervised.h"

namespace gradrace {

/// Linear regression; see the page in least_squares.cpp.  Parameters: w [features], then b.
struct LeastSquaresConfig : SupervisedConfig {
  static constexpr bool classifies = false;
};

template <class Real>
std::unique_ptr<Model<Real>> make_least_squares(const LeastSquaresConfig& config);

}  // namespace gradrace
