#pragma once

#include <cstdint>
#include <cstring>

#include "sim/host_device.h"

/// Copies to a block's shared memory that a GPU makes while its threads go on; elsewhere they are
/// made at once.  A thread waits for its own; block.sync() shows them to the others.
namespace gradrace::kernels {

/// 16 bytes, both at multiples of 16.
GRADRACE_HD inline void copy_ahead(void* to, const void* from) {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
#else
  std::memcpy(to, from, 16);
#endif
}

/// Those since the last call are a group.
GRADRACE_HD inline void end_group() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}

/// Begins to bring the 128 bytes around to where they are read sooner.
GRADRACE_HD inline void prefetch(const void* from) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];\n" ::"l"(from));
#else
  static_cast<void>(from);
#endif
}

/// Waits until all groups but the last `newer` are there.
template <std::uint32_t newer = 0>
GRADRACE_HD void wait_for_groups() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;\n" ::"n"(newer) : "memory");
#endif
}

}  // namespace gradrace::kernels
