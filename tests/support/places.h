#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "models/cpu/cpu_device.h"
#include "models/gpu/cuda/cuda_device.h"
#include "tests/support/emulated_device.h"
#include "tests/support/skip.h"

namespace gradrace {

/// Where numbers are computed, and how near they must be to the CPU's in float64.
struct Place {
  std::string name;
  bool float64;
  std::function<std::unique_ptr<Device>(std::unique_ptr<Model<float>>)> make_float32;
  std::function<std::unique_ptr<Device>(std::unique_ptr<Model<double>>)> make_float64;

  double tolerance() const { return float64 ? 1e-12 : 1e-5; }
};

inline Place cpu() {
  const auto make = [](auto model) { return make_cpu_device(std::move(model)); };
  return {"cpu", false, make, make};
}

inline Place emulated(std::uint32_t threads, bool float64 = false,
                      std::size_t shared_memory = EmulatedBlocks::most_shared_memory,
                      Execution execution = Execution::at_call) {
  const auto make = [=](auto model) {
    return make_block_device(std::move(model), EmulatedBlocks(threads, shared_memory, execution),
                             {});
  };
  return {"emulated, " + std::to_string(threads) + " threads", float64, make, make};
}

/// Where no weights fit into a block's memory: all networks go by gradients.
inline Place by_gradients(bool float64 = false, std::uint32_t threads = 1) {
  return emulated(threads, float64, 0);
}

inline Place cuda(bool float64 = false) {
  const auto make = [](auto model) { return make_cuda_device(std::move(model), {}); };
  return {"cuda", float64, make, make};
}

}  // namespace gradrace

/// Skips the test case where there is no CUDA device.
#define GRADRACE_NEEDS_CUDA() \
  if (!no_cuda_device().empty()) GRADRACE_SKIP(no_cuda_device())
