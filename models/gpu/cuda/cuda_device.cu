#include <cuda_runtime.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "models/gpu/cuda/cuda_device.h"

namespace gradrace {

/// A hardware queue for each of up to 32 jobs' streams; CUDA reads it at its first call and has 8
/// otherwise.  Set before main(), while there is one thread.
[[maybe_unused]] static const int queues = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);

std::string no_cuda_device() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "no CUDA device: no driver for one is installed";
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  return count > 0 ? "" : "no CUDA device";
}

void prepare_cuda() {
  static const std::jthread context([] {
    // Threads that wait leave their cores to others.
    if (cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) == cudaSuccess) cudaFree(nullptr);
    cudaGetLastError();  // where there is no device: the first use says so
  });
}

}  // namespace gradrace
