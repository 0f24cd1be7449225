#pragma once

#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "models/gpu/batched_product.h"
#include "models/gpu/block_device.h"
#include "sim/check.h"

namespace gradrace {

/// One of the threads that a block is made of.
class EmulatedBlock {
 public:
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

  /// What nobody has written is no number.
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

  static constexpr std::uint64_t library_bytes = 0;
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

  template <class Real>
  void multiply(const BatchedProduct<Real>& product) {
    if (recorded_ != nullptr)
      recorded_->push_back([=](auto& self) { self.make(product); });
    else
      make(product);
  }

  void multiply_with(Products products) { products_ = products; }

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

  /// Number by number, so that a sum has one order wherever its factors are.  Into how many parts
  /// it is cut depends on the count, as a library's algorithm may.
  template <class Real>
  void make(const BatchedProduct<Real>& product) {
    const std::uint32_t parts = 1 + product.count % 7;
    for (std::uint32_t number = 0; number < product.count; ++number) {
      if (number > 0 && product.c[number] == product.c[number - 1]) continue;  // nobody's
      for (const Real* at : std::initializer_list<const Real*>{
               product.a.at[number], product.b.at[number], product.c[number]})
        GRADRACE_CHECK(!product.aligned || std::bit_cast<std::uintptr_t>(at) % 16 == 0,
                       "matrices are aligned that are said to be");
      const auto a = matrix(product.a, number, product.rows, product.depth);
      const auto b = matrix(product.b, number, product.depth, product.columns);
      for (std::size_t i = 0; i < product.rows; ++i) {
        std::vector<Real> sums(product.columns, 0);
        for (std::uint32_t part = 0; part < parts; ++part)
          for (std::size_t k = part; k < product.depth; k += parts)
            for (std::size_t j = 0; j < product.columns; ++j)
              sums[j] += a[i * product.depth + k] * b[k * product.columns + j];
        Real* const c = product.c[number] + i * product.c_stride;
        for (std::size_t j = 0; j < product.columns; ++j)
          c[j] = product.alpha * sums[j] + (product.beta == 0 ? 0 : product.beta * c[j]);
      }
    }
  }

  /// To the nearest float32 with so short a fraction.
  float rounded(float x) const {
    const int left_out = 23 - static_cast<int>(products_);
    if (left_out == 0 || !std::isfinite(x)) return x;
    const std::uint32_t half = (std::uint32_t{1} << left_out) / 2;
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + half) >> left_out << left_out);
  }
  static double rounded(double x) { return x; }

  /// op of those factors, row after row.
  template <class Real>
  std::vector<Real> matrix(const BatchedFactors<Real>& of, std::uint32_t number, std::size_t rows,
                           std::size_t columns) const {
    const Real* const from = of.at[number];
    std::vector<Real> result(rows * columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        result[i * columns + j] =
            rounded(of.transposed ? from[j * of.stride + i] : from[i * of.stride + j]);
    return result;
  }

  std::uint32_t threads_;
  std::size_t shared_memory_;
  Products products_ = Products::float32;
  using Work = std::vector<std::function<void(EmulatedBlocks&)>>;
  std::map<std::vector<std::uint32_t>, Work> repeated_;
  Work* recorded_ = nullptr;
};

}  // namespace gradrace
