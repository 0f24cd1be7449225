#include "models/cpu/kernels/lanes_portable.h"

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

#ifdef __FP_FAST_FMAF
constexpr bool fuses = true;
#else
constexpr bool fuses = false;
#endif

extern const Kernels portable_kernels;
constexpr Kernels portable_kernels = kernels_named("portable", fuses);

}  // namespace gradrace::kernels
