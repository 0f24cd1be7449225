#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gradrace {

/// std::runtime_error where CUDA could not do that.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

}  // namespace gradrace
