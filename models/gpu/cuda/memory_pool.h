#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "models/gpu/cuda/cuda_check.h"

namespace gradrace {

/// Memory of the device, from a pool that keeps what is given back: neither call waits for the work
/// of any stream, as cudaMalloc and cudaFree do.  So memory may be given back only when nothing
/// uses it any more.  Safe from several threads.
class MemoryPool {
 public:
  static MemoryPool& of_device() {
    static MemoryPool pool;
    return pool;
  }

  /// For any stream.  std::runtime_error where there is no such memory left.
  void* take(std::size_t bytes) {
    void* memory = nullptr;
    const cudaError_t error = cudaMallocAsync(&memory, bytes, stream_);
    if (error != cudaSuccess) cudaGetLastError();  // is not the next launch's
    if (error == cudaErrorMemoryAllocation)
      throw std::runtime_error("CUDA: no memory left on the device for " +
                               std::to_string(bytes >> 20) +
                               " MiB more; fewer replicas or --jobs 1 may do");
    check(error, "memory of the device");
    check(cudaStreamSynchronize(stream_), "memory of the device");
    return memory;
  }
  void give_back(void* memory) { cudaFreeAsync(memory, stream_); }

  /// In bytes, what the pool keeps included.
  std::uint64_t free_bytes() const {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "free memory of the device");
    return free + attribute(cudaMemPoolAttrReservedMemCurrent) -
           attribute(cudaMemPoolAttrUsedMemCurrent);
  }

 private:
  MemoryPool() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    check(cudaDeviceGetDefaultMemPool(&pool_, 0), "a pool of memory");
    std::uint64_t kept = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept),
          "a pool of memory");
  }

  std::uint64_t attribute(cudaMemPoolAttr which) const {
    std::uint64_t value = 0;
    check(cudaMemPoolGetAttribute(pool_, which, &value), "a pool of memory");
    return value;
  }

  // Both as long as the process: memory may be given back as late as at its end.
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace gradrace
