#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/supervised.h"

namespace gradrace {

/// A multilayer perceptron; see the page in mlp.cpp.  Parameters, layer after layer: W [outputs,
/// inputs], row-major, then b [outputs].
struct MlpConfig : SupervisedConfig {
  std::vector<std::uint64_t> widths;  // of the hidden layers
  std::string activation = "relu";    // or tanh
};

ModelProduct make_mlp(const MlpConfig& config);

}  // namespace gradrace
