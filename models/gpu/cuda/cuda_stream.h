#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/gpu/cuda/cuda_check.h"
#include "models/gpu/cuda/cuda_graphs.h"
#include "models/gpu/cuda/memory_pool.h"
#include "models/gpu/cuda/pinned_ring.h"
#include "models/gpu/kernels/block.h"
#include "models/gpu/launcher.h"

namespace gradrace {

/// See models/gpu/kernels/block.h.
class CudaBlock {
 public:
  static constexpr bool has_all_threads = true;

  __device__ std::uint32_t thread() const { return threadIdx.x; }
  __device__ std::uint32_t threads() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }

  template <class Number>
  __device__ Number* scratch() const {
    extern __shared__ __align__(16) unsigned char shared[];
    return reinterpret_cast<Number*>(shared);
  }

  template <class T>
  __device__ void copy(T* to, const T* from) const {
    constexpr std::size_t width = sizeof(T) < 16 ? sizeof(T) : 16;
    static_assert(sizeof(T) % width == 0 && (width == 4 || width % 8 == 0));
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
#pragma unroll
    for (unsigned byte = 0; byte < sizeof(T); byte += width) {
      const char* const source = reinterpret_cast<const char*>(from) + byte;
      if constexpr (width == 16)  // past the first cache
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + byte), "l"(source)
                     : "memory");
      else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at + byte), "l"(source),
                     "n"(width)
                     : "memory");
    }
  }
  __device__ void wait_for_copies() const { asm volatile("cp.async.wait_all;" ::: "memory"); }
  __device__ void end_copies() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  __device__ void wait_for_older_copies() const {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  }
  __device__ void prefetch(const void* from) const {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
  }
};

static_assert(kernels::ThreadBlock<CudaBlock>);

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, Kernel::at_once)
    run_blocks(Kernel kernel, std::uint32_t count) {
  const CudaBlock block;
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    kernel(block, i, blockIdx.x);
    block.sync();
  }
}

/// A BlockLauncher with a stream of its own: several work side by side, and while one computes the
/// host may schedule another's runs.
class CudaStream {
 public:
  CudaStream() {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "properties of the device");
    name_ = properties.name;
    processors_ = static_cast<std::size_t>(properties.multiProcessorCount);
    shared_memory_ = properties.sharedMemPerBlockOptin;
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    stream_.reset(stream);
    for (auto& event : events_) {
      cudaEvent_t made = nullptr;
      check(cudaEventCreate(&made), "an event");
      event.reset(made);
    }
  }

  template <class T>
  class Memory {
   public:
    Memory() = default;
    explicit Memory(std::size_t size) : size_(size) {
      if (size == 0) return;
      data_.reset(static_cast<T*>(MemoryPool::of_device().take(size * sizeof(T))));
    }
    explicit Memory(const std::vector<T>& from) : Memory(from.size()) {
      if (from.empty()) return;
      check(cudaMemcpy(data_.get(), from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
            "a copy to the device");
      // The copy may return before the last of it is there, and other streams do not wait for it.
      check(cudaStreamSynchronize(nullptr), "a copy to the device");
    }
    T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }

   private:
    struct Free {
      void operator()(T* memory) const {
        MemoryPool::of_device().give_back(const_cast<std::remove_const_t<T>*>(memory));
      }
    };
    std::size_t size_ = 0;
    std::unique_ptr<T, Free> data_;
  };

  static constexpr std::uint64_t pass_bytes = std::uint64_t{1} << 30;

  template <class T>
  void copy_in(const T* from, std::size_t count, T* to) {
    if (count == 0) return;
    end_timed();
    ring_.copy_in(stream_.get(), from, count * sizeof(T), to);
  }

  template <class T>
  void copy_out(const T* from, std::size_t count, T* to) {
    if (count == 0) return;
    end_timed();
    check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream_.get()),
          "a copy from the device");
  }

  template <class T>
  void copy_within(const T* from, std::size_t count, T* to) {
    if (count == 0) return;
    begin_timed();
    check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToDevice, stream_.get()),
          "a copy on the device");
  }

  template <class Kernel>
  void launch(const Kernel& kernel, std::uint32_t count, std::uint32_t workers) {
    if (count == 0) return;
    begin_timed();
    const std::size_t shared = kernel.shared_numbers() * sizeof(typename Kernel::Real);
    if (shared > unasked_shared_memory) allow_shared_memory<Kernel>();
    run_blocks<<<std::min(count, workers), Kernel::threads, shared, stream_.get()>>>(kernel, count);
    check(cudaGetLastError(), "launch of a kernel");
  }

  template <class Body>
  void repeat(const CudaGraphs::Key& key, const Body& body) {
    begin_timed();
    graphs_.repeat(stream_.get(), key, body);
  }
  void forget() { graphs_.forget(); }

  void wait() {
    end_timed();
    check(cudaStreamSynchronize(stream_.get()), "work of the device");
    ring_.all_is_read();
    if (!timed_) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[0].get(), events_[1].get()), "a time");
    kernel_seconds_ += milliseconds / 1000;
    timed_ = false;
  }

  /// Eight blocks of 256 threads are the most that a multiprocessor of 2,048 holds.
  std::size_t blocks() const { return 8 * processors_; }

  std::size_t shared_memory() const { return shared_memory_; }

  std::uint64_t free_memory() const { return MemoryPool::of_device().free_bytes(); }

  std::string name() const { return name_; }
  std::optional<double> kernel_seconds() const { return kernel_seconds_; }

 private:
  struct DestroyStream {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };

  static constexpr std::size_t unasked_shared_memory = 48 << 10;

  /// Once for each kernel, and all that a block may have: the attributes are the function's, which
  /// streams share.
  template <class Kernel>
  void allow_shared_memory() const {
    static const bool allowed = [this] {
      check(cudaFuncSetAttribute(run_blocks<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_memory_)),
            "shared memory of a kernel");
      check(cudaFuncSetAttribute(run_blocks<Kernel>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared),
            "shared memory of a kernel");
      return true;
    }();
    static_cast<void>(allowed);
  }

  // A measured time is from the first launch after a wait to the last, with what lies between.
  void begin_timed() {
    if (!timed_) check(cudaEventRecord(events_[0].get(), stream_.get()), "an event");
    timed_ = working_ = true;
  }
  void end_timed() {
    if (working_) check(cudaEventRecord(events_[1].get(), stream_.get()), "an event");
    working_ = false;
  }

  std::string name_;
  std::size_t processors_ = 1, shared_memory_ = 0;
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream> stream_;
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent> events_[2];  // first, last
  PinnedRing ring_;
  CudaGraphs graphs_;
  bool timed_ = false, working_ = false;
  double kernel_seconds_ = 0;
};

static_assert(BlockLauncher<CudaStream>);

}  // namespace gradrace
