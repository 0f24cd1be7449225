#pragma once

#include <cstdint>

namespace gradrace {

/// Matrices of one shape, row after row.
template <class Real>
struct BatchedFactors {
  const Real* const* at;  // [count]
  std::uint32_t stride;   // from one row to the next
  bool transposed = false;
};

/// C_i = alpha op(A_i) op(B_i) + beta C_i for each i < count, where op(A) is [rows, depth], op(B)
/// [depth, columns] and C [rows, columns].  Everything is in the device's memory.  Where beta is 0
/// what C was does not matter.
template <class Real>
struct BatchedProduct {
  std::uint32_t rows, columns, depth;
  Real alpha;
  BatchedFactors<Real> a, b;
  Real beta;
  Real* const* c;  // [count]
  std::uint32_t c_stride;
  std::uint32_t count;
  bool aligned;  // each matrix begins at a multiple of 16 bytes
};

}  // namespace gradrace
