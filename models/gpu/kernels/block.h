#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "sim/host_device.h"

/// Numbers computed by a block of threads that share a scratch memory: one source for a GPU's
/// blocks and for those that tests make of the CPU's threads.
///
/// All threads of a block call a function of this folder together, with the same arguments, and
/// each function ends with sync().  What is computed does not depend on how many threads there are:
/// sums are cut into parts by the sizes of things alone, and the parts are added in a fixed order.
/// There are no atomics.
///
/// A kernel says how many threads its blocks have, how many blocks a multiprocessor should hold at
/// least (at_once), and how many numbers of Real a block's threads share (shared_numbers()).
namespace gradrace::kernels {

///     thread()           number of this thread, below
///     threads()          how many there are
///     has_all_threads    whether they are as many as the kernel says; else any number
///     sync()             waits until every thread is here; then all see what any wrote before
///     scratch<Number>()  memory that the threads share, of shared_numbers()
///     copy(to, from)     begins to copy a T, of 4 bytes or a multiple of 8, to scratch memory;
///                        both are aligned to its size, or to 16 bytes where that is less
///     wait_for_copies()  waits for those that this thread has begun; after sync() all see them
///     end_copies()       those that this thread has begun since the last call are a group
///     wait_for_older_copies()  waits for all of its groups but the last
///     prefetch(from)     the 128 bytes around will be read soon
template <class T>
concept ThreadBlock = requires(const T& block, float* to, const float* from) {
  { block.thread() } -> std::same_as<std::uint32_t>;
  { block.threads() } -> std::same_as<std::uint32_t>;
  { T::has_all_threads } -> std::convertible_to<bool>;
  block.sync();
  { block.template scratch<double>() } -> std::same_as<double*>;
  block.copy(to, from);
  block.wait_for_copies();
  block.end_copies();
  block.wait_for_older_copies();
  block.prefetch(from);
};

/// Scratch memory that most kernels share, in numbers.
/// Of at most 8 bytes: 48 KiB, the most of a GPU's block that need not ask for more.
constexpr std::uint32_t scratch_numbers = 6144;

/// Work is cut so that about so many threads have some.
constexpr std::uint32_t lanes = 256;

/// f(i) for each i < n, thread by thread; does not sync.
template <class Block, class Function>
GRADRACE_HD void each(const Block& block, std::uint32_t n, const Function& f) {
  for (std::uint32_t i = block.thread(); i < n; i += block.threads()) f(i);
}

/// n rounded up to a multiple of four, for numbers that are read four at once.
template <class Count>
GRADRACE_HD constexpr Count in_fours(Count n) {
  return (n + 3) / 4 * 4;
}

/// Where many blocks share what is to be done, each does so much of it.
constexpr std::uint32_t chunk_numbers = 1024;

GRADRACE_HD constexpr std::uint32_t chunks(std::uint64_t n) {
  return static_cast<std::uint32_t>((n + chunk_numbers - 1) / chunk_numbers);
}

/// f(j) for the j < n of that chunk; does not sync.
template <class Block, class Function>
GRADRACE_HD void each_of_chunk(const Block& block, std::uint32_t chunk, std::uint64_t n,
                               const Function& f) {
  const std::uint64_t first = std::uint64_t{chunk} * chunk_numbers;
  if (first >= n) return;
  const std::uint64_t left = n - first;
  each(block, left < chunk_numbers ? static_cast<std::uint32_t>(left) : chunk_numbers,
       [&](std::uint32_t j) { f(first + j); });
}

/// numbers [count] = 0, a block for each chunk.
template <class Number>
struct ClearKernel {
  using Real = Number;

  Number* numbers;
  std::uint64_t count;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t chunk, std::uint32_t) const {
    each_of_chunk(block, chunk, count, [&](std::uint64_t j) { numbers[j] = 0; });
  }
};

}  // namespace gradrace::kernels
