#include "models/cpu/kernels/lanes.h"

namespace gradrace::kernels {
namespace {

#ifdef __FP_FAST_FMAF
constexpr bool is_fused = true;
#else
constexpr bool is_fused = false;
#endif

/// Where the machine has no fused multiply-add, a product is rounded before it is added.
struct Portable : PlainRegisters<float, 4> {
  static constexpr int held = 2;
  static constexpr int rows_for(int) { return 2; }
  static constexpr int lanes_of_tile = 1;
  static constexpr int maps_of_tile = 2, sums_held = 3;

  template <class Of>
  GRADRACE_INLINE static Register each(const Of& of) {
    return Register{of(0), of(1), of(2), of(3)};
  }
  GRADRACE_INLINE static Register of_bytes(const std::uint8_t* p) {
    return each([&](int i) { return static_cast<float>(p[i]); });
  }
  GRADRACE_INLINE static Register fma(Register a, Register b, Register c) {
    if (!is_fused) return a * b + c;
    return each([&](int i) { return __builtin_fmaf(a[i], b[i], c[i]); });
  }
  GRADRACE_INLINE static Register root(Register x) {
    return each([&](int i) { return __builtin_sqrtf(x[i]); });
  }
};

using Lanes = LanesOf<Portable>;

}  // namespace
}  // namespace gradrace::kernels

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels portable_kernels;
constexpr Kernels portable_kernels = kernels_named("portable", is_fused);

}  // namespace gradrace::kernels
