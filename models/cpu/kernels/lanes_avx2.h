#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "models/cpu/kernels/part_of_lanes.h"

/// What products.h asks of a type of lanes, in AVX2 with FMA.
namespace gradrace::kernels {
namespace {

struct Lanes {
  using Number = float;
  static constexpr int count = 16;
  __m256 low, high;

  static constexpr int held = 6;
  static constexpr int rows_for(int) { return 6; }
  static constexpr int lanes_of_tile = 1;
  static constexpr int maps_of_tile = 4, sums_held = 6;

  struct Mask {
    __m256 low, high;
  };

  static Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Lanes all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Lanes of_bytes(const std::uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  static Lanes places() {
    return {_mm256_set_ps(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set_ps(15, 14, 13, 12, 11, 10, 9, 8)};
  }
  Lanes in_register() const { return *this; }
  void store(float* p) const { _mm256_storeu_ps(p, low), _mm256_storeu_ps(p + 8, high); }

  static Lanes some(const float* p, std::size_t numbers) { return some_of<Lanes>(p, numbers); }
  void store_some(float* p, std::size_t numbers) const { store_some_of(*this, p, numbers); }

  friend Lanes operator+(Lanes a, Lanes b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  friend Lanes operator-(Lanes a, Lanes b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  friend Lanes operator*(Lanes a, Lanes b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  friend Lanes operator/(Lanes a, Lanes b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  static Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  Lanes root() const { return {_mm256_sqrt_ps(low), _mm256_sqrt_ps(high)}; }

  friend Mask operator>(Lanes a, Lanes b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ)};
  }
  friend Mask operator==(Lanes a, Lanes b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ)};
  }
  static Lanes select(Mask m, Lanes a, Lanes b) {
    return {_mm256_blendv_ps(b.low, a.low, m.low), _mm256_blendv_ps(b.high, a.high, m.high)};
  }

  friend Lanes operator&(Lanes a, std::uint32_t bits) {
    const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(bits)));
    return {_mm256_and_ps(a.low, mask), _mm256_and_ps(a.high, mask)};
  }
  friend Lanes operator|(Lanes a, std::uint32_t bits) {
    const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(bits)));
    return {_mm256_or_ps(a.low, mask), _mm256_or_ps(a.high, mask)};
  }
  friend Lanes operator|(Lanes a, Lanes b) {
    return {_mm256_or_ps(a.low, b.low), _mm256_or_ps(a.high, b.high)};
  }
  Lanes up23() const {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(low), 23)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(high), 23))};
  }
  Lanes down23() const {
    return {_mm256_castsi256_ps(_mm256_srli_epi32(_mm256_castps_si256(low), 23)),
            _mm256_castsi256_ps(_mm256_srli_epi32(_mm256_castps_si256(high), 23))};
  }

  float total() const {
    const __m256 eight = _mm256_add_ps(low, high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  float greatest() const {
    const __m256 eight = _mm256_max_ps(low, high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
};

}  // namespace
}  // namespace gradrace::kernels
