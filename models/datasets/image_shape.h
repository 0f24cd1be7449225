#pragma once

#include <cstddef>

namespace gradrace {

/// Features that are images: [channels, height, width] of each row, the width beside itself.
struct ImageShape {
  std::size_t channels = 0, height = 0, width = 0;

  std::size_t numbers() const { return channels * height * width; }
};

}  // namespace gradrace
