#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "models/cpu/kernels/part_of_lanes.h"

/// What products.h asks of a type of lanes, in NEON of 64-bit ARM.
namespace gradrace::kernels {
namespace {

struct Lanes {
  using Number = float;
  static constexpr int count = 16;
  float32x4_t v[4];

  static constexpr int held = 6;
  static constexpr int rows_for(int) { return 5; }
  static constexpr int lanes_of_tile = 1;
  static constexpr int maps_of_tile = 4, sums_held = 6;

  struct Mask {
    uint32x4_t v[4];
  };

  template <class Each>
  static Lanes each(const Each& number) {
    return {{number(0), number(1), number(2), number(3)}};
  }

  static Lanes load(const float* p) {
    return each([&](int i) { return vld1q_f32(p + 4 * i); });
  }
  static Lanes all(float x) {
    return each([&](int) { return vdupq_n_f32(x); });
  }
  static Lanes of_bytes(const std::uint8_t* p) {
    const uint8x16_t bytes = vld1q_u8(p);
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
    return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))),
             vcvtq_f32_u32(vmovl_u16(vget_high_u16(low))),
             vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))),
             vcvtq_f32_u32(vmovl_u16(vget_high_u16(high)))}};
  }
  static Lanes places() {
    constexpr float numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load(numbers);
  }
  Lanes in_register() const { return *this; }
  void store(float* p) const {
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v[i]);
  }

  static Lanes some(const float* p, std::size_t numbers) { return some_of<Lanes>(p, numbers); }
  void store_some(float* p, std::size_t numbers) const { store_some_of(*this, p, numbers); }

  friend Lanes operator+(Lanes a, Lanes b) {
    return each([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
  }
  friend Lanes operator-(Lanes a, Lanes b) {
    return each([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
  }
  friend Lanes operator*(Lanes a, Lanes b) {
    return each([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
  }
  friend Lanes operator/(Lanes a, Lanes b) {
    return each([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
  }
  static Lanes fma(Lanes a, Lanes b, Lanes c) {
    return each([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
  }
  Lanes root() const {
    return each([&](int i) { return vsqrtq_f32(v[i]); });
  }

  friend Mask operator>(Lanes a, Lanes b) {
    return {{vcgtq_f32(a.v[0], b.v[0]), vcgtq_f32(a.v[1], b.v[1]), vcgtq_f32(a.v[2], b.v[2]),
             vcgtq_f32(a.v[3], b.v[3])}};
  }
  friend Mask operator==(Lanes a, Lanes b) {
    return {{vceqq_f32(a.v[0], b.v[0]), vceqq_f32(a.v[1], b.v[1]), vceqq_f32(a.v[2], b.v[2]),
             vceqq_f32(a.v[3], b.v[3])}};
  }
  static Lanes select(Mask m, Lanes a, Lanes b) {
    return each([&](int i) { return vbslq_f32(m.v[i], a.v[i], b.v[i]); });
  }

  static uint32x4_t bits(float32x4_t x) { return vreinterpretq_u32_f32(x); }
  static float32x4_t number(uint32x4_t x) { return vreinterpretq_f32_u32(x); }

  friend Lanes operator&(Lanes a, std::uint32_t mask) {
    return each([&](int i) { return number(vandq_u32(bits(a.v[i]), vdupq_n_u32(mask))); });
  }
  friend Lanes operator|(Lanes a, std::uint32_t mask) {
    return each([&](int i) { return number(vorrq_u32(bits(a.v[i]), vdupq_n_u32(mask))); });
  }
  friend Lanes operator|(Lanes a, Lanes b) {
    return each([&](int i) { return number(vorrq_u32(bits(a.v[i]), bits(b.v[i]))); });
  }
  Lanes up23() const {
    return each([&](int i) { return number(vshlq_n_u32(bits(v[i]), 23)); });
  }
  Lanes down23() const {
    return each([&](int i) { return number(vshrq_n_u32(bits(v[i]), 23)); });
  }

  float total() const {
    const float32x4_t four = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
  }
  float greatest() const {
    float numbers[16];
    store(numbers);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        numbers[i] = numbers[i] > numbers[i + half] ? numbers[i] : numbers[i + half];
    return numbers[0];
  }
};

}  // namespace
}  // namespace gradrace::kernels
