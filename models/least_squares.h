#pragma once

#include "models/supervised.h"

namespace gradrace {

/// Linear regression; see the page in least_squares.cpp.  Parameters: w [features], then b.
struct LeastSquaresConfig : SupervisedConfig {};

ModelProduct make_least_squares(const LeastSquaresConfig& config);

}  // namespace gradrace
