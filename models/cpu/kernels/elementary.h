#pragma once

#include "models/cpu/kernels/inline.h"

/// exp, ln and tanh of lanes: fused multiply-adds alone, so that every instruction set gives the
/// same bits.  NaN propagates.
namespace gradrace::kernels {
namespace {

/// c[0] x^(n - 1) + ... + c[n - 1].
template <int n>
GRADRACE_INLINE Lanes polynomial(Lanes x, const float (&c)[n]) {
  Lanes result = Lanes::all(c[0]);
  for (int i = 1; i < n; ++i) result = Lanes::fma(result, x, Lanes::all(c[i]));
  return result;
}

/// 2^n of a whole number n, -126 <= n <= 127: 1.5 2^23 + 127 + n has n's exponent as its last bits.
GRADRACE_INLINE Lanes power_of_two(Lanes n) { return (n + Lanes::all(12582912.0f + 127)).up23(); }

/// The nearest whole number, of |x| < 2^22.
GRADRACE_INLINE Lanes nearest(Lanes x) {
  const Lanes magic = Lanes::all(12582912.0f);
  return (x + magic) - magic;
}

GRADRACE_INLINE Lanes at_most(Lanes x, float bound) {
  return Lanes::select(x > Lanes::all(bound), Lanes::all(bound), x);
}
GRADRACE_INLINE Lanes at_least(Lanes x, float bound) {
  return Lanes::select(Lanes::all(bound) > x, Lanes::all(bound), x);
}

/// Within 1 unit in the last place, and among subnormal numbers of the smallest of them.  exp(r) on
/// |r| <= ln(2) / 2 by Cephes' polynomial (Moshier, expf.c).
GRADRACE_INLINE Lanes exponential(Lanes x) {
  x = at_least(at_most(x, 89), -105);
  const Lanes n = nearest(x * Lanes::all(1.44269504088896341f));
  Lanes r = Lanes::fma(n, Lanes::all(-0.693359375f), x);
  r = Lanes::fma(n, Lanes::all(2.12194440e-4f), r);
  const Lanes p = polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
  const Lanes y = Lanes::fma(p, r * r, r) + Lanes::all(1);
  const Lanes half = nearest(n * Lanes::all(0.5f));
  return y * power_of_two(half) * power_of_two(n - half);
}

/// ln x of x >= 1, infinity among them, by Cephes' polynomial (Moshier, logf.c).
GRADRACE_INLINE Lanes logarithm(Lanes x) {
  const Lanes above = Lanes::all(1.41421356237f);
  Lanes e = (x.down23() | 0x4B000000u) - Lanes::all(8388608.0f + 127);
  Lanes m = (x & 0x007FFFFFu) | 0x3F800000u;
  const auto large = m > above;
  m = Lanes::select(large, m * Lanes::all(0.5f), m);
  e = Lanes::select(large, e + Lanes::all(1), e);
  const Lanes f = m - Lanes::all(1), square = f * f;
  const Lanes p = polynomial(f, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                                 -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                                 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
  Lanes y = Lanes::fma(e, Lanes::all(-2.12194440e-4f), p * (square * f));
  y = Lanes::fma(square, Lanes::all(-0.5f), y);
  y = Lanes::fma(e, Lanes::all(0.693359375f), f + y);
  return Lanes::select(Lanes::all(3.402823466e38f) > x, y, x + x);
}

/// ln(1 + e) of 0 <= e <= 1: the rounding of 1 + e is made good to first order.
GRADRACE_INLINE Lanes logarithm_of_one_and(Lanes e) {
  const Lanes u = Lanes::all(1) + e;
  return logarithm(u) + (e - (u - Lanes::all(1))) / u;
}

GRADRACE_INLINE Lanes magnitude(Lanes x) { return x & 0x7FFFFFFFu; }

/// Near 0 by Cephes' polynomial (Moshier, tanhf.c).
GRADRACE_INLINE Lanes hyperbolic_tangent(Lanes x) {
  const Lanes z = x * x;
  const Lanes p = polynomial(z, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                                 1.33314422036e-1f, -3.33332819422e-1f});
  const Lanes near = Lanes::fma(p * z, x, x);
  const Lanes size = magnitude(x);
  const Lanes e = exponential(size + size) + Lanes::all(1);
  const Lanes far = (Lanes::all(1) - Lanes::all(2) / e) | (x & 0x80000000u);
  return Lanes::select(Lanes::all(0.625f) > size, near, far);
}

}  // namespace
}  // namespace gradrace::kernels
