#include <immintrin.h>

#include "models/cpu/kernels/lanes.h"

namespace gradrace::kernels {
namespace {

/// With FMA.
struct Avx2 : PlainRegisters<float, 8> {
  static constexpr int held = 6;
  static constexpr int rows_for(int) { return 6; }
  static constexpr int lanes_of_tile = 1;
  static constexpr int maps_of_tile = 4, sums_held = 6;

  GRADRACE_INLINE static Register of_bytes(const std::uint8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  GRADRACE_INLINE static Register fma(Register a, Register b, Register c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  GRADRACE_INLINE static Register root(Register x) { return _mm256_sqrt_ps(x); }
};

using Lanes = LanesOf<Avx2>;

}  // namespace
}  // namespace gradrace::kernels

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels avx2_kernels;
constexpr Kernels avx2_kernels = kernels_named("avx2", true);

}  // namespace gradrace::kernels
