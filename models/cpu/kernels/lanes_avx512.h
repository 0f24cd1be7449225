#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

/// What products.h asks of a type of lanes, in AVX-512.  Every file of kernels has its type to
/// itself, so that the linker shares no code between instruction sets.
namespace gradrace::kernels {
namespace {

struct Lanes {
  using Number = float;
  static constexpr int count = 16;
  __m512 v;

  static constexpr int held = 10;
  static constexpr int rows_for(int lanes) { return lanes == 1 ? 16 : 8; }
  static constexpr int lanes_of_tile = 2;
  static constexpr int maps_of_tile = 8, sums_held = 24;

  using Mask = __mmask16;

  static Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Lanes all(float x) { return {_mm512_set1_ps(x)}; }
  static Lanes of_bytes(const std::uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))};
  }
  static Lanes places() {
    return {_mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)};
  }
  /// Else every product that it is a factor of loads it again.
  Lanes in_register() const {
    Lanes own = *this;
    asm("" : "+v"(own.v));
    return own;
  }
  void store(float* p) const { _mm512_storeu_ps(p, v); }

  static Lanes some(const float* p, std::size_t numbers) {
    return {_mm512_maskz_loadu_ps(static_cast<Mask>((1u << numbers) - 1), p)};
  }
  void store_some(float* p, std::size_t numbers) const {
    _mm512_mask_storeu_ps(p, static_cast<Mask>((1u << numbers) - 1), v);
  }

  friend Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend Lanes operator/(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  Lanes root() const { return {_mm512_sqrt_ps(v)}; }

  friend Mask operator>(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ); }
  friend Mask operator==(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ); }
  static Lanes select(Mask m, Lanes a, Lanes b) { return {_mm512_mask_blend_ps(m, b.v, a.v)}; }

  friend Lanes operator&(Lanes a, std::uint32_t bits) {
    return {_mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(static_cast<int>(bits))))};
  }
  friend Lanes operator|(Lanes a, std::uint32_t bits) {
    return {_mm512_castsi512_ps(
        _mm512_or_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(static_cast<int>(bits))))};
  }
  friend Lanes operator|(Lanes a, Lanes b) {
    return {
        _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(a.v), _mm512_castps_si512(b.v)))};
  }
  Lanes up23() const {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(v), 23))};
  }
  Lanes down23() const {
    return {_mm512_castsi512_ps(_mm512_srli_epi32(_mm512_castps_si512(v), 23))};
  }

  float total() const {
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  float greatest() const {
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
};

}  // namespace
}  // namespace gradrace::kernels
