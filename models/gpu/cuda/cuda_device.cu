#include <cuda_runtime.h>

#include <string>

#include "models/gpu/cuda/cuda_device.h"

namespace gradrace {

std::string no_cuda_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  return count > 0 ? "" : "no CUDA device";
}

}  // namespace gradrace
