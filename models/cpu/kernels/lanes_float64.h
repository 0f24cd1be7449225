#pragma once

#include <cstddef>

/// What convolutions.h asks of a type of lanes, for float64 and any machine.
namespace gradrace::kernels {
namespace {

struct Lanes {
  using Number = double;
  static constexpr int count = 16;
  static constexpr int lanes_of_tile = 1, maps_of_tile = 2, sums_held = 3;

  double v[count];

  static Lanes all(double x) {
    Lanes result;
    for (double& number : result.v) number = x;
    return result;
  }
  static Lanes some(const double* p, std::size_t numbers) {
    Lanes result = all(0);
    for (std::size_t i = 0; i < numbers; ++i) result.v[i] = p[i];
    return result;
  }
  static Lanes load(const double* p) { return some(p, count); }
  void store_some(double* p, std::size_t numbers) const {
    for (std::size_t i = 0; i < numbers; ++i) p[i] = v[i];
  }
  const Lanes& in_register() const { return *this; }
  void store(double* p) const { store_some(p, count); }

  /// Rounded twice.
  static Lanes fma(const Lanes& a, const Lanes& b, Lanes c) {
    for (int i = 0; i < count; ++i) c.v[i] += a.v[i] * b.v[i];
    return c;
  }
  friend Lanes operator+(const Lanes& a, Lanes b) {
    for (int i = 0; i < count; ++i) b.v[i] += a.v[i];
    return b;
  }
  double total() const {
    Lanes sum = *this;
    for (int half = count / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sum.v[i] += sum.v[i + half];
    return sum.v[0];
  }
};

}  // namespace
}  // namespace gradrace::kernels
