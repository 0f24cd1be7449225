#pragma once

#include <memory>
#include <optional>

#include "models/layers/loss.h"
#include "models/supervised.h"

namespace gradrace {

/// Scores s = W x + b.  Parameters: W [outputs, features], row-major, then b [outputs]; they start
/// as N(0, init_sd^2), one after the other from the stream initial_weights.
template <class Real>
std::unique_ptr<Model<Real>> make_linear(const SupervisedConfig& config,
                                         std::unique_ptr<Loss<Real>> loss, double init_sd);

}  // namespace gradrace
