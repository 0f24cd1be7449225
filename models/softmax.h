#pragma once

#include "models/supervised.h"

namespace gradrace {

/// Softmax regression; see the page in softmax.cpp.  Parameters: W [classes, features], row-major,
/// then b [classes].
struct SoftmaxConfig : SupervisedConfig {
  double init_sd = 0;  // of W and b at the start
};

ModelProduct make_softmax(const SoftmaxConfig& config);

}  // namespace gradrace
