#include <immintrin.h>

#include "models/cpu/kernels/lanes.h"

namespace gradrace::kernels {
namespace {

struct Avx512 : PlainRegisters<float, 16> {
  static constexpr int held = 10;
  static constexpr int rows_for(int lanes) { return lanes == 1 ? 16 : 8; }
  static constexpr int lanes_of_tile = 2;
  static constexpr int maps_of_tile = 8, sums_held = 24;

  GRADRACE_INLINE static Register of_bytes(const std::uint8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  GRADRACE_INLINE static Register fma(Register a, Register b, Register c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  GRADRACE_INLINE static Register root(Register x) { return _mm512_sqrt_ps(x); }
  /// Else every product that it is a factor of loads it again.
  GRADRACE_INLINE static Register in_register(Register x) {
    asm("" : "+v"(x));
    return x;
  }
  template <class Lanes>
  GRADRACE_INLINE static Lanes some(const float* p, std::size_t count) {
    Lanes result;
    result.v[0] = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
    return result;
  }
  template <class Lanes>
  GRADRACE_INLINE static void store_some(const Lanes& lanes, float* p, std::size_t count) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), lanes.v[0]);
  }
};

using Lanes = LanesOf<Avx512>;

}  // namespace
}  // namespace gradrace::kernels

// The type Lanes comes first.
#include "models/cpu/kernels/all_kernels.h"

namespace gradrace::kernels {

extern const Kernels avx512_kernels;
constexpr Kernels avx512_kernels = kernels_named("avx512", true);

}  // namespace gradrace::kernels
