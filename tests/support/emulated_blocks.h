#pragma once

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "models/gpu/kernels/block.h"

namespace gradrace {

/// One of the threads that a block is made of.
class EmulatedBlock {
 public:
  static constexpr bool has_all_threads = false;

  EmulatedBlock(std::uint32_t thread, std::uint32_t threads, std::barrier<>* barrier,
                std::byte* scratch)
      : thread_(thread), threads_(threads), barrier_(barrier), scratch_(scratch) {}

  std::uint32_t thread() const { return thread_; }
  std::uint32_t threads() const { return threads_; }
  void sync() const {
    if (barrier_ != nullptr) barrier_->arrive_and_wait();
  }
  template <class Number>
  Number* scratch() const {
    return reinterpret_cast<Number*>(scratch_);
  }

 private:
  std::uint32_t thread_, threads_;
  std::barrier<>* barrier_;
  std::byte* scratch_;
};

/// A Launcher of BlockDevice whose device is the CPU: blocks are made of real threads, and one runs
/// after the other.
class EmulatedBlocks {
 public:
  static constexpr std::size_t most_shared_memory = 227 << 10;  // of a block, in bytes

  explicit EmulatedBlocks(std::uint32_t threads, std::size_t shared_memory = most_shared_memory)
      : threads_(threads), shared_memory_(shared_memory) {}

  /// What was never written is NaN.
  template <class T>
  class Memory {
   public:
    Memory() = default;
    explicit Memory(std::size_t size)
        : size_(size), data_(static_cast<T*>(::operator new(size * sizeof(T)))) {
      std::memset(static_cast<void*>(data_.get()), 0xff, size * sizeof(T));
    }
    explicit Memory(const std::vector<T>& from) : Memory(from.size()) {
      std::copy(from.begin(), from.end(), data());
    }
    T* data() const { return size_ > 0 ? data_.get() : nullptr; }
    std::size_t size() const { return size_; }

   private:
    struct Free {
      void operator()(T* data) const { ::operator delete(data); }
    };
    std::size_t size_ = 0;
    std::unique_ptr<T, Free> data_;
  };

  // So little that tests have passes of many sizes, and strips.
  static constexpr std::uint64_t pass_bytes = 1 << 16, patch_numbers = 1 << 14;

  template <class T>
  using Staging = std::vector<T>;

  template <class T>
  void copy_in(const T* from, std::size_t count, T* to) {
    std::copy_n(from, count, to);
  }
  template <class T>
  void copy_out(const T* from, std::size_t count, T* to) {
    std::copy_n(from, count, to);
  }
  template <class T>
  void copy_within(const T* from, std::size_t count, T* to) {
    std::copy_n(from, count, to);
  }
  void wait() {}

  /// What comes again is remembered, and done as it was the second time.
  template <class Body>
  void repeat(const std::vector<std::uint32_t>& key, const Body& body) {
    const auto [work, fresh] = repeated_.try_emplace(key);
    if (fresh) return body();
    if (work->second.empty()) {
      recorded_ = &work->second;
      body();
      recorded_ = nullptr;
    }
    for (const auto& of_it : work->second) of_it(*this);
  }
  void forget() { repeated_.clear(); }

  template <class Kernel>
  void launch(const Kernel& kernel, std::uint32_t count, std::uint32_t workers) {
    if (recorded_ != nullptr)
      recorded_->push_back([=](auto& self) { self.run(kernel, count, workers); });
    else
      run(kernel, count, workers);
  }

  std::size_t blocks() const { return 3; }
  std::size_t shared_memory() const { return shared_memory_; }
  std::uint64_t free_memory() const { return std::uint64_t{1} << 33; }
  std::string name() const { return "emulated"; }
  std::optional<double> kernel_seconds() const { return {}; }

 private:
  template <class Kernel>
  void run(const Kernel& kernel, std::uint32_t count, std::uint32_t workers) {
    std::vector<std::byte> scratch(kernel.shared_numbers() * sizeof(typename Kernel::Real),
                                   std::byte{0xff});
    std::barrier<> barrier(threads_);
    const auto work = [&](std::uint32_t thread) {
      const EmulatedBlock block(thread, threads_, threads_ > 1 ? &barrier : nullptr,
                                scratch.data());
      for (std::uint32_t i = 0; i < count; ++i) {
        kernel(block, i, i % workers);
        if (!scratch.empty()) block.sync();  // the next one has the same
      }
    };
    std::vector<std::jthread> others;
    for (std::uint32_t thread = 1; thread < threads_; ++thread) others.emplace_back(work, thread);
    work(0);
  }

  std::uint32_t threads_;
  std::size_t shared_memory_;
  using Work = std::vector<std::function<void(EmulatedBlocks&)>>;
  std::map<std::vector<std::uint32_t>, Work> repeated_;
  Work* recorded_ = nullptr;
};

}  // namespace gradrace
