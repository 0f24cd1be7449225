#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "models/gpu/kernels/block.h"

namespace gradrace::kernels {

/// A row of a data set takes a multiple of so many numbers, padded with zeros.
constexpr std::uint32_t row_unit = 32;

/// Rows of a data set in a device's memory.
struct Split {
  const std::uint8_t* bytes;    // [count, stride], or null
  const float* floats;          // likewise
  const std::uint8_t* classes;  // [count], or null
  const float* targets;         // [count], or null
  std::uint32_t count, features;
  std::uint32_t stride;  // features in row_units
  float byte_scale;
};

/// byte x scale, rounded once.
template <class Real>
GRADRACE_HD Real scaled(std::uint32_t byte, Real scale) {
  // The last bits of 2^23 stand for ones: quicker on a GPU than its conversion of integers.
  if constexpr (sizeof(Real) == 4)
    return std::fma(std::bit_cast<float>(0x4B000000u | byte), scale, -8388608.0f * scale);
  else
    return static_cast<Real>(byte) * scale;
}

/// Some rows of it: x(i, k) is feature k of the i-th.
template <class Real>
struct ByteRows {
  const std::uint8_t* bytes;
  const std::uint32_t* numbers;
  std::uint32_t stride;
  Real scale;

  GRADRACE_HD Real operator()(std::uint32_t i, std::uint32_t k) const {
    return static_cast<Real>(bytes[std::uint64_t{numbers[i]} * stride + k]) * scale;
  }
};

template <class Real>
struct FloatRows {
  const float* floats;
  const std::uint32_t* numbers;
  std::uint32_t stride;

  GRADRACE_HD Real operator()(std::uint32_t i, std::uint32_t k) const {
    return static_cast<Real>(floats[std::uint64_t{numbers[i]} * stride + k]);
  }
};

/// Calls f with the rows of those numbers, as what they are kept as.
template <class Real, class Function>
GRADRACE_HD void with_rows(const Split& split, const std::uint32_t* numbers, const Function& f) {
  if (split.bytes != nullptr)
    f(ByteRows<Real>{split.bytes, numbers, split.stride, static_cast<Real>(split.byte_scale)});
  else
    f(FloatRows<Real>{split.floats, numbers, split.stride});
}

}  // namespace gradrace::kernels
