#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "sim/host_device.h"

/// Quotients and roots of a GPU's float32 within two units of the last place: where they are
/// rounded right, a number that is 0 takes a hundred instructions more.
namespace gradrace {

template <class Real, class Divisor>
GRADRACE_HD Real quotient(Real a, Divisor b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Real) == sizeof(float)) return __fdividef(a, b);
#endif
  return a / b;
}

template <class Real>
GRADRACE_HD Real root(Real a) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Real) == sizeof(float)) {
    Real root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(a));
    return root;
  }
#endif
  if constexpr (std::is_floating_point_v<Real>) {
    return std::sqrt(a);
  } else {  // several numbers side by side
    for (std::size_t i = 0; i < sizeof a / sizeof a[0]; ++i) a[i] = std::sqrt(a[i]);
    return a;
  }
}

}  // namespace gradrace
