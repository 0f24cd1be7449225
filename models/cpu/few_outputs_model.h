#pragma once

#include <memory>

#include "models/supervised_model.h"

namespace gradrace {

/// Whether it is a single dense layer of few outputs, of data whose zeros are beside each other, so
/// that inputs are the lanes of its products; one of a single output always is.
bool is_few_outputs_model(const SupervisedParts& parts);

/// A supervised model of such a layer in float32, computed by kernels of its own.  The chosen
/// kernels are those of the moment when it is made.
std::unique_ptr<Model<float>> make_few_outputs_model(const SupervisedParts& parts);

}  // namespace gradrace
