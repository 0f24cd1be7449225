#include "tests/support/every_kernel.h"

#include <doctest/doctest.h>

namespace gradrace::every_kernel_test {

TEST_CASE("kernels: each has the same bits on every instruction set that fuses") {
  const std::vector<KernelHash> expected = hashes_of(*kernels::runnable_kernels().front());
  for (const kernels::Kernels* const each : kernels::runnable_kernels()) {
    CAPTURE(each->name);
    const std::vector<KernelHash> found = hashes_of(*each);
    if (each->fused == kernels::runnable_kernels().front()->fused) CHECK(found == expected);
  }
}

}  // namespace gradrace::every_kernel_test
