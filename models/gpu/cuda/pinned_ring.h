#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "models/gpu/cuda/cuda_check.h"

namespace gradrace {

/// Page-locked memory of the host, 8 MiB, through which one stream copies to the device what lies
/// anywhere: what was read may change as soon as copy_in() returns.  A piece is used again when the
/// stream has read it; until then the caller waits.
class PinnedRing {
 public:
  void copy_in(cudaStream_t stream, const void* from, std::size_t bytes, void* to) {
    if (!memory_) make();
    const auto* source = static_cast<const unsigned char*>(from);
    auto* target = static_cast<unsigned char*>(to);
    while (bytes > 0) {
      if (used_ == piece_bytes) turn(stream);
      const std::size_t now = std::min(bytes, piece_bytes - used_);
      unsigned char* const at = memory_.get() + piece_ * piece_bytes + used_;
      std::memcpy(at, source, now);
      check(cudaMemcpyAsync(target, at, now, cudaMemcpyHostToDevice, stream),
            "a copy to the device");
      used_ = std::min(piece_bytes, (used_ + now + alignment - 1) / alignment * alignment);
      source += now, target += now, bytes -= now;
    }
  }

  /// The stream has done all that it was given.
  void all_is_read() { std::ranges::fill(being_read_, false); }

 private:
  static constexpr std::size_t pieces = 16, piece_bytes = std::size_t{512} << 10, alignment = 256;

  struct Free {
    void operator()(unsigned char* memory) const { cudaFreeHost(memory); }
  };
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };

  void make() {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, pieces * piece_bytes), "page-locked memory of the host");
    memory_.reset(static_cast<unsigned char*>(memory));
    for (auto& event : read_) {
      cudaEvent_t made = nullptr;
      check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventBlockingSync),
            "an event");
      event.reset(made);
    }
  }

  /// The next piece is written.
  void turn(cudaStream_t stream) {
    check(cudaEventRecord(read_[piece_].get(), stream), "an event");
    being_read_[piece_] = true;
    piece_ = (piece_ + 1) % pieces;
    used_ = 0;
    if (!being_read_[piece_]) return;
    check(cudaEventSynchronize(read_[piece_].get()), "work of the device");
    being_read_[piece_] = false;
  }

  std::unique_ptr<unsigned char, Free> memory_;
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent> read_[pieces];
  bool being_read_[pieces] = {};
  std::size_t piece_ = 0, used_ = 0;  // the piece that is written, and how much of it is
};

}  // namespace gradrace
