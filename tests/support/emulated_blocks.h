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
#include <utility>
#include <vector>

#include "models/gpu/launcher.h"

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
  /// As late as a device may.
  template <class T>
  void copy(T* to, const T* from) const {
    copies_.push_back({to, from, sizeof(T)});
  }
  void wait_for_copies() const { make(copies_.size()), last_ = open_ = 0; }
  void end_copies() const { last_ = open_, open_ = copies_.size(); }
  void wait_for_older_copies() const { make(last_), open_ -= last_, last_ = 0; }
  void prefetch(const void*) const {}

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };

  /// The first ones.
  void make(std::size_t count) const {
    const auto end = copies_.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto copy = copies_.begin(); copy != end; ++copy)
      std::memcpy(copy->to, copy->from, copy->bytes);
    copies_.erase(copies_.begin(), end);
  }

  std::uint32_t thread_, threads_;
  std::barrier<>* barrier_;
  std::byte* scratch_;
  mutable std::vector<Copy> copies_;
  mutable std::size_t last_ = 0, open_ = 0;  // where the last group begins, and what is in none
};

static_assert(kernels::ThreadBlock<EmulatedBlock>);

/// When and how EmulatedBlocks does what it is asked for.
enum class Execution {
  at_call,       // block after block
  at_wait,       // likewise, but as late as a device may: all of it in wait()
  side_by_side,  // at the call, four blocks at a time
};

/// A BlockLauncher whose device is the CPU: blocks are made of real threads.
class EmulatedBlocks {
 public:
  static constexpr std::size_t most_shared_memory = 227 << 10;  // of a block, in bytes

  explicit EmulatedBlocks(std::uint32_t threads, std::size_t shared_memory = most_shared_memory,
                          Execution execution = Execution::at_call)
      : threads_(threads), shared_memory_(shared_memory), execution_(execution) {}

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

  // So little that tests have passes of many sizes.
  static constexpr std::uint64_t pass_bytes = 1 << 16;

  template <class T>
  void copy_in(const T* from, std::size_t count, T* to) {
    begin([to, all = std::vector<T>(from, from + count)](auto&) { std::ranges::copy(all, to); });
  }
  template <class T>
  void copy_out(const T* from, std::size_t count, T* to) {
    copy_within(from, count, to);
  }
  template <class T>
  void copy_within(const T* from, std::size_t count, T* to) {
    begin([=](auto&) { std::copy_n(from, count, to); });
  }
  template <class Kernel>
  void launch(const Kernel& kernel, std::uint32_t count, std::uint32_t workers) {
    begin([=](auto& self) { self.run(kernel, count, workers); });
  }
  void wait() {
    ++*waits_;
    for (const Work& work : std::exchange(pending_, {})) work(*this);
  }

  /// The second time the work of a key is recorded, and from then on it is done as it was then.
  template <class Body>
  void repeat(const std::vector<std::uint32_t>& key, const Body& body) {
    const auto [recorded, fresh] = repeated_.try_emplace(key);
    if (fresh) return body();
    if (recorded->second.empty()) {
      recording_ = &recorded->second;
      body();
      recording_ = nullptr;
    }
    for (const Work& work : recorded->second) begin(work);
  }
  void forget() { repeated_.clear(); }

  /// How often it was waited for, told after it has been moved, too.
  std::shared_ptr<const std::uint64_t> waits() const { return waits_; }

  std::size_t blocks() const { return 3; }
  std::size_t shared_memory() const { return shared_memory_; }
  std::uint64_t free_memory() const { return std::uint64_t{1} << 33; }
  std::string name() const { return "emulated"; }
  std::optional<double> kernel_seconds() const { return {}; }

 private:
  using Work = std::function<void(EmulatedBlocks&)>;

  void begin(const Work& work) {
    if (recording_ != nullptr)
      recording_->push_back(work);
    else if (execution_ == Execution::at_wait)
      pending_.push_back(work);
    else
      work(*this);
  }

  template <class Kernel>
  void run(const Kernel& kernel, std::uint32_t count, std::uint32_t workers) {
    const std::uint32_t lanes = execution_ == Execution::side_by_side ? std::min(workers, 4u) : 1;
    std::vector<std::jthread> others;
    for (std::uint32_t lane = 1; lane < lanes; ++lane)
      others.emplace_back([&, lane] { run_lane(kernel, count, workers, lane, lanes); });
    run_lane(kernel, count, workers, 0, lanes);
  }

  /// The blocks of every lanes-th worker.
  template <class Kernel>
  void run_lane(const Kernel& kernel, std::uint32_t count, std::uint32_t workers,
                std::uint32_t lane, std::uint32_t lanes) {
    std::vector<std::byte> scratch(kernel.shared_numbers() * sizeof(typename Kernel::Real),
                                   std::byte{0xff});
    std::barrier<> barrier(threads_);
    const auto work = [&](std::uint32_t thread) {
      const EmulatedBlock block(thread, threads_, threads_ > 1 ? &barrier : nullptr,
                                scratch.data());
      for (std::uint32_t i = 0; i < count; ++i) {
        if (i % workers % lanes != lane) continue;
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
  Execution execution_;
  std::shared_ptr<std::uint64_t> waits_ = std::make_shared<std::uint64_t>(0);
  std::vector<Work> pending_;
  std::map<std::vector<std::uint32_t>, std::vector<Work>> repeated_;
  std::vector<Work>* recording_ = nullptr;
};

static_assert(BlockLauncher<EmulatedBlocks>);

}  // namespace gradrace
