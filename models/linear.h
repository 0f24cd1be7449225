#pragma once

#include "models/supervised.h"

namespace gradrace {

/// Scores s = W x + b.  Parameters: W [outputs, features], row-major, then b [outputs]; they start
/// as N(0, init_sd^2), one after the other from the stream initial_weights.
ModelProduct make_linear(const SupervisedConfig& config, LossKind loss, double init_sd);

}  // namespace gradrace
