#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/kernels/block.h"

namespace gradrace {

/// Where blocks of threads run, and the memory that they see.  Everything but wait() may only be
/// begun when a call returns; it is done in the order of the calls.  What copy_in() reads may
/// change when it returns; what copy_out() writes is there after the next wait(), and must stay
/// until then.  Memory must stay until what uses it is done.
///
///     Memory<T>                      numbers on the device: empty, of a size, or a vector's copy
///     launch(kernel, count, workers) kernel(block, i, worker) for each i < count, one after the
///                                    other with the same worker < workers
///     repeat(key, body)              does what body() launches, which may be captured: equal keys
///                                    must launch identical work
///     forget()                       drops all captures
///     wait()                         until all of it is done
///     pass_bytes                     work memory of a pass of a network where one minibatch does
///                                    not need more
///     blocks()                       that can be at work at the same time
///     shared_memory()                of a block at most, in bytes
///     kernel_seconds()               time that the device has worked, if it is measured
template <class T>
concept BlockLauncher = requires(T& launcher, const T& same, const float* from, float* to,
                                 void (*body)(), const kernels::ClearKernel<float>& kernel,
                                 const typename T::template Memory<float>& memory) {
  requires std::default_initializable<typename T::template Memory<float>>;
  requires std::constructible_from<typename T::template Memory<float>, std::size_t>;
  requires std::constructible_from<typename T::template Memory<float>, std::vector<float>>;
  { memory.data() } -> std::same_as<float*>;
  { memory.size() } -> std::same_as<std::size_t>;
  launcher.copy_in(from, std::size_t{1}, to);
  launcher.copy_out(from, std::size_t{1}, to);
  launcher.copy_within(from, std::size_t{1}, to);
  launcher.launch(kernel, std::uint32_t{1}, std::uint32_t{1});
  launcher.repeat(std::vector<std::uint32_t>{}, body);
  launcher.forget();
  launcher.wait();
  { T::pass_bytes } -> std::convertible_to<std::uint64_t>;
  { same.blocks() } -> std::same_as<std::size_t>;
  { same.shared_memory() } -> std::same_as<std::size_t>;
  { same.free_memory() } -> std::same_as<std::uint64_t>;
  { same.name() } -> std::same_as<std::string>;
  { same.kernel_seconds() } -> std::same_as<std::optional<double>>;
};

}  // namespace gradrace
