#pragma once

#include <memory>

#include "models/model/supervised_model.h"

namespace gradrace {

/// Of dense layers: whether there is a single one of few outputs, whose products are faster with
/// inputs as lanes, by groups_pay().
bool has_few_outputs(const SupervisedParts& parts);

/// A supervised model of dense layers in float32, computed by kernels of its own; few_outputs: as
/// such a layer is.  The chosen kernels are those of the moment when it is made.
std::unique_ptr<Model<float>> make_dense_model(const SupervisedParts& parts, bool few_outputs);

}  // namespace gradrace
