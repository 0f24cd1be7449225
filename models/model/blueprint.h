#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/layers/base/layer.h"
#include "models/layers/base/row_loss.h"
#include "models/sampling/minibatch.h"

namespace gradrace {

/// What a device that does not use the CPU's code needs to know of a model of a data set.
struct NetworkBlueprint {
  std::uint32_t parameters;
  std::vector<kernels::Layer> layers;  // except for their places in the work memory
  LossKind loss;
  Sampling sampling;
  double l2;
  bool augments;  // the images of a minibatch
  bool tf32x3;    // products of float32 by three of TF32
  std::shared_ptr<const Dataset> data;
  std::vector<std::uint32_t> train_rows, test_rows;  // that an evaluation looks at
};

/// Likewise of a quadratic.
struct QuadraticBlueprint {
  std::uint64_t dimensions;
  std::vector<double> curvatures;
  double noise;
};

/// Of a model that only the CPU computes.
struct NoBlueprint {
  std::string_view reason = {};  // empty: nobody wrote it for others
};

using Blueprint = std::variant<NetworkBlueprint, QuadraticBlueprint, NoBlueprint>;

}  // namespace gradrace
