#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "models/cpu/kernels/part_of_lanes.h"

/// What products.h asks of a type of lanes, in plain loops.  Where the machine has no fused
/// multiply-add, a product is rounded before it is added.
namespace gradrace::kernels {
namespace {

struct Lanes {
  using Number = float;
  static constexpr int count = 16;
  float v[16];

  static constexpr int held = 2;
  static constexpr int rows_for(int) { return 2; }
  static constexpr int lanes_of_tile = 1;
  static constexpr int maps_of_tile = 2, sums_held = 3;

  struct Mask {
    bool v[16];
  };

  template <class Each>
  static Lanes each(const Each& number) {
    Lanes result;
    for (int i = 0; i < 16; ++i) result.v[i] = number(i);
    return result;
  }
  template <class Each>
  static Mask where(const Each& holds) {
    Mask result;
    for (int i = 0; i < 16; ++i) result.v[i] = holds(i);
    return result;
  }

  static Lanes load(const float* p) {
    return each([&](int i) { return p[i]; });
  }
  static Lanes all(float x) {
    return each([&](int) { return x; });
  }
  static Lanes of_bytes(const std::uint8_t* p) {
    return each([&](int i) { return static_cast<float>(p[i]); });
  }
  static Lanes places() {
    return each([](int i) { return static_cast<float>(i); });
  }
  const Lanes& in_register() const { return *this; }
  void store(float* p) const {
    for (int i = 0; i < 16; ++i) p[i] = v[i];
  }

  static Lanes some(const float* p, std::size_t numbers) { return some_of<Lanes>(p, numbers); }
  void store_some(float* p, std::size_t numbers) const { store_some_of(*this, p, numbers); }

  friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.v[i] + b.v[i]; });
  }
  friend Lanes operator-(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.v[i] - b.v[i]; });
  }
  friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.v[i] * b.v[i]; });
  }
  friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a.v[i] / b.v[i]; });
  }
  static Lanes fma(const Lanes& a, const Lanes& b, const Lanes& c) {
    return each([&](int i) {
#ifdef __FP_FAST_FMAF
      return __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
#else
      return a.v[i] * b.v[i] + c.v[i];
#endif
    });
  }
  Lanes root() const {
    return each([&](int i) { return __builtin_sqrtf(v[i]); });
  }

  friend Mask operator>(const Lanes& a, const Lanes& b) {
    return where([&](int i) { return a.v[i] > b.v[i]; });
  }
  friend Mask operator==(const Lanes& a, const Lanes& b) {
    return where([&](int i) { return a.v[i] == b.v[i]; });
  }
  static Lanes select(const Mask& m, const Lanes& a, const Lanes& b) {
    return each([&](int i) { return m.v[i] ? a.v[i] : b.v[i]; });
  }

  static std::uint32_t bits(float x) {
    std::uint32_t result;
    std::memcpy(&result, &x, sizeof x);
    return result;
  }
  static float number(std::uint32_t x) {
    float result;
    std::memcpy(&result, &x, sizeof x);
    return result;
  }

  friend Lanes operator&(const Lanes& a, std::uint32_t mask) {
    return each([&](int i) { return number(bits(a.v[i]) & mask); });
  }
  friend Lanes operator|(const Lanes& a, std::uint32_t mask) {
    return each([&](int i) { return number(bits(a.v[i]) | mask); });
  }
  friend Lanes operator|(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return number(bits(a.v[i]) | bits(b.v[i])); });
  }
  Lanes up23() const {
    return each([&](int i) { return number(bits(v[i]) << 23); });
  }
  Lanes down23() const {
    return each([&](int i) { return number(bits(v[i]) >> 23); });
  }

  template <class Of>
  float folded(const Of& of) const {
    float numbers[16];
    store(numbers);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) numbers[i] = of(numbers[i], numbers[i + half]);
    return numbers[0];
  }
  float total() const {
    return folded([](float a, float b) { return a + b; });
  }
  float greatest() const {
    return folded([](float a, float b) { return a > b ? a : b; });
  }
};

}  // namespace
}  // namespace gradrace::kernels
