#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cpu/kernels/kernels.h"

namespace gradrace {

struct KernelHash {
  std::string kernel;
  std::uint64_t hash;

  bool operator==(const KernelHash&) const = default;
};

/// Hashes of the bits that each kernel gives of made-up numbers, which are the same on every
/// machine; what it reads and writes ends where it is allowed to.
std::vector<KernelHash> hashes_of(const kernels::Kernels& kernels);

}  // namespace gradrace
