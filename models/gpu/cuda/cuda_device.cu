#include <cuda_runtime.h>

#include <cstdlib>
#include <string>

#include "models/gpu/cuda/cuda_device.h"

namespace gradrace {

/// A hardware queue for each of up to 32 jobs' streams; CUDA reads it at its first call and has 8
/// otherwise.  Set before main(), while there is one thread.
[[maybe_unused]] static const int queues = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);

std::string no_cuda_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  return count > 0 ? "" : "no CUDA device";
}

}  // namespace gradrace
