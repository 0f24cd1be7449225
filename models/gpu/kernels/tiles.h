#pragma once

#include <cmath>
#include <cstdint>

#include "models/gpu/kernels/block.h"

/// Numbers that are read four at once.
namespace gradrace::kernels {

#ifdef __CUDA_ARCH__
#define GRADRACE_UNROLL _Pragma("unroll")
#define GRADRACE_UNROLL_BY_2 _Pragma("unroll 2")
#define GRADRACE_UNROLL_BY_4 _Pragma("unroll 4")
#define GRADRACE_UNROLL_BY_16 _Pragma("unroll 16")
#define GRADRACE_ROLLED _Pragma("unroll 1")
#elif defined(__CUDACC__)
#define GRADRACE_UNROLL
#define GRADRACE_UNROLL_BY_2
#define GRADRACE_UNROLL_BY_4
#define GRADRACE_UNROLL_BY_16
#define GRADRACE_ROLLED
#else
#define GRADRACE_UNROLL _Pragma("GCC unroll 16")
#define GRADRACE_UNROLL_BY_2
#define GRADRACE_UNROLL_BY_4
#define GRADRACE_UNROLL_BY_16
#define GRADRACE_ROLLED
#endif

template <class Real>
struct alignas(16) Four {
  Real at[4];
};

/// A multiplication and an addition with one rounding, in whichever kernel it is.
GRADRACE_HD inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
GRADRACE_HD inline double fused(double a, double b, double c) { return std::fma(a, b, c); }

/// Rows of an array, one after the other.
template <class Real>
struct Fours {
  const Real* numbers;
  std::uint32_t stride;

  GRADRACE_HD Four<Real> operator()(std::uint32_t i, std::uint32_t k) const {
    return *reinterpret_cast<const Four<Real>*>(numbers + std::uint64_t{i} * stride + k);
  }
};

}  // namespace gradrace::kernels
