#include "models/cpu/kernels/lanes_avx512.h"

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels avx512_kernels;
constexpr Kernels avx512_kernels = kernels_named("avx512", true);

}  // namespace gradrace::kernels
