#pragma once

#include <cuda_runtime.h>

#include <shared_mutex>
#include <stdexcept>
#include <string>

namespace gradrace {

/// std::runtime_error where CUDA could not do that.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

/// Shared by streams that are captured; what waits for a whole device must hold it alone.
inline std::shared_mutex& cuda_captures() {
  static std::shared_mutex mutex;
  return mutex;
}

}  // namespace gradrace
