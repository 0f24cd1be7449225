#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/supervised.h"

namespace gradrace {

/// A residual network; see the page in resnet.cpp.  Parameters, layer after layer: W [outputs,
/// channels, 3, 3], b [outputs] and gamma [outputs] of each convolution, W [classes, channels] and
/// b [classes] of the last; then, as statistics of a batch normalisation, mean and variance
/// [outputs] of each convolution.
struct ResnetConfig : SupervisedConfig {
  std::uint32_t depth = 20;                  // 6 n + 2
  std::uint32_t width = 16;                  // channels of the first stage
  std::string normalisation = "batch";       // or group
  std::optional<std::uint64_t> groups = {};  // of a group normalisation; unset: 32
  double statistics_decay = 0.9;             // of an update, with batch normalisation
};

ModelProduct make_resnet(const ResnetConfig& config);

}  // namespace gradrace
