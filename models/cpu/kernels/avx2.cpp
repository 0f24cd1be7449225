#include "models/cpu/kernels/lanes_avx2.h"

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels avx2_kernels;
constexpr Kernels avx2_kernels = kernels_named("avx2", true);

}  // namespace gradrace::kernels
