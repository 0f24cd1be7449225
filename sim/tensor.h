#pragma once

#include <cstdint>

#include "sim/host_device.h"

namespace gradrace {

/// A part of what a model has learnt, one number after another: a vector, or a matrix row by row.
struct Tensor {
  std::uint32_t rows, columns = 1;

  GRADRACE_HD std::uint32_t numbers() const { return rows * columns; }
};

}  // namespace gradrace
