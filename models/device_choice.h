#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/model/blueprint.h"

namespace gradrace {

/// Runs whose gradients one device may compute side by side.
struct SideBySide {
  const Blueprint& blueprint;  // of their model
  std::string_view precision;  // its key
  std::uint32_t learners;      // P, the most of them
  std::uint32_t minibatch;     // m, the least of them
  std::size_t runs;
};

/// Of `device: auto`.
struct DeviceChoice {
  bool is_gpu;
  std::string why;  // ends a sentence: "cpu, since ..."
};

/// Where there is a GPU: whether it is the faster one.  By what stands in SideBySide alone, so that
/// the same runs have the same device on every machine with a GPU.
DeviceChoice choose_device(const SideBySide& work);

/// Parameters times rows of minibatches that no GPU passes faster in a second, all its runs
/// together.
double most_numbers_a_second(const Blueprint& blueprint);

}  // namespace gradrace
