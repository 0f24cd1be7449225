#include "models/cpu/kernels/lanes_neon.h"

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels neon_kernels;
constexpr Kernels neon_kernels = kernels_named("neon", true);

}  // namespace gradrace::kernels
