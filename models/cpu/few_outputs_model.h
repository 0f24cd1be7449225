#pragma once

#include <memory>

#include "models/supervised_model.h"

namespace gradrace {

/// Whether it is a single dense layer of few outputs whose products are faster with inputs as
/// lanes, by groups_pay().
bool is_few_outputs_model(const SupervisedParts& parts);

/// A supervised model of such a layer in float32, computed by kernels of its own.  The chosen
/// kernels are those of the moment when it is made.
std::unique_ptr<Model<float>> make_few_outputs_model(const SupervisedParts& parts);

}  // namespace gradrace
