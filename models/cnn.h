#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/supervised.h"

namespace gradrace {

/// A convolutional network; see the page in cnn.cpp.  Parameters, layer after layer: W [outputs,
/// channels, kernel, kernel] or [outputs, inputs], row-major, then b [outputs].
struct CnnConfig : SupervisedConfig {
  std::string net = "lenet";  // or cifar10-full, which has none of the keys that follow
  std::vector<std::uint64_t> channels = {6, 16};  // of the convolutions
  std::uint32_t kernel = 5;                       // their height and width
  std::vector<std::uint64_t> dense = {120, 84};   // widths of the hidden layers after them
  std::string activation = "relu";                // or tanh
};

ModelProduct make_cnn(const CnnConfig& config);

}  // namespace gradrace
