#pragma once

#include <cstdint>

#include "models/datasets/dataset.h"
#include "models/layers/kernels/layer.h"

namespace gradrace {

/// A kernel's layer that makes y of x, but for what only its kind has.
inline kernels::Layer kernel_layer(kernels::LayerKind kind, const ImageShape& x,
                                   const ImageShape& y, kernels::Function f) {
  return {.kind = kind,
          .f = f,
          .channels = static_cast<std::uint32_t>(x.channels),
          .height = static_cast<std::uint32_t>(x.height),
          .width = static_cast<std::uint32_t>(x.width),
          .outputs = static_cast<std::uint32_t>(y.channels),
          .out_height = static_cast<std::uint32_t>(y.height),
          .out_width = static_cast<std::uint32_t>(y.width)};
}

}  // namespace gradrace
