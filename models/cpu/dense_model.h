#pragma once

#include <memory>

#include "models/supervised_model.h"

namespace gradrace {

/// A supervised model of dense layers in float32, computed by kernels of its own.  The chosen
/// kernels are those of the moment when it is made.
std::unique_ptr<Model<float>> make_dense_model(const SupervisedParts& parts);

}  // namespace gradrace
