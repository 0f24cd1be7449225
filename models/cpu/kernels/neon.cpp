#include <arm_neon.h>

#include "models/cpu/kernels/lanes.h"

namespace gradrace::kernels {
namespace {

/// Of 64-bit ARM.
struct Neon : PlainRegisters<float, 4> {
  static constexpr int held = 6;
  static constexpr int rows_for(int) { return 5; }
  static constexpr int lanes_of_tile = 1;
  static constexpr int maps_of_tile = 4, sums_held = 6;

  GRADRACE_INLINE static Register of_bytes(const std::uint8_t* p) {
    std::uint32_t four;
    std::memcpy(&four, p, sizeof four);
    const uint16x8_t numbers = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(numbers)));
  }
  GRADRACE_INLINE static Register fma(Register a, Register b, Register c) {
    return vfmaq_f32(c, a, b);
  }
  GRADRACE_INLINE static Register root(Register x) { return vsqrtq_f32(x); }
};

using Lanes = LanesOf<Neon>;

}  // namespace
}  // namespace gradrace::kernels

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels neon_kernels;
constexpr Kernels neon_kernels = kernels_named("neon", true);

}  // namespace gradrace::kernels
