#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/gpu/kernels/block.h"

namespace gradrace {

/// Makes the memory at least that large.  Its content is lost when it grows.
template <class Memory, class Launcher>
void reserve(Launcher& launcher, Memory& memory, std::size_t count) {
  if (memory.size() >= count) return;
  launcher.wait();  // work in progress may use it
  launcher.forget();
  const std::size_t size = std::max(count, memory.size() + memory.size() / 2);
  memory = {};
  memory = Memory(size);
}

/// A block for each i < count, in any order.
template <class Launcher, class Kernel>
void launch_all(Launcher& launcher, const Kernel& kernel, std::uint32_t count) {
  launcher.launch(kernel, count, count);
}

/// numbers [count] = 0.
template <class Real, class Launcher>
void clear(Launcher& launcher, Real* numbers, std::uint64_t count) {
  launch_all(launcher, kernels::ClearKernel<Real>{numbers, count}, kernels::chunks(count));
}

/// A list on the host that goes to the device, or one that comes from there.
template <class T, class Launcher>
struct Mirror {
  std::vector<T> host;
  typename Launcher::template Memory<T> device;

  void send(Launcher& launcher) {
    reserve(launcher, device, host.size());
    launcher.copy_in(host.data(), host.size(), device.data());
  }
  void fetch(Launcher& launcher, std::size_t count) {
    host.resize(count);
    launcher.copy_out(device.data(), count, host.data());
  }
  T* data() const { return device.data(); }
};

}  // namespace gradrace
