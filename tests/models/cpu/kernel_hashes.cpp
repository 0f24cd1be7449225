#include <iostream>

#include "tests/support/every_kernel.h"

/// Prints the hashes of hashes_of() for each instruction set of this machine that fuses.
int main() {
  for (const auto* const kernels : gradrace::kernels::runnable_kernels()) {
    if (!kernels->fused) continue;
    for (const auto& [kernel, hash] : gradrace::hashes_of(*kernels))
      std::cout << kernels->name << ": " << kernel << ": " << std::hex << hash << '\n';
  }
}
