#pragma once

#include <cstddef>
#include <cstdint>

namespace gradrace {

/// Where the numbers g of a gradient go: out = change, change = sum + weight g, or, of what is
/// moved, out = base - change.  Each operation is rounded on its own.
template <class Real>
struct Fold {
  Real weight;
  const Real* sum;   // [d] of the gradients before it; null: 0
  const Real* base;  // [d]; null: nothing is moved
  Real* out;         // [d]; may be sum, and may be the value that the gradient is computed at
};

template <class Real>
Real folded(const Fold<Real>& into, std::size_t j, Real g) {
  const Real change = (into.sum != nullptr ? into.sum[j] : Real{0}) + into.weight * g;
  return into.base != nullptr ? into.base[j] - change : change;
}

}  // namespace gradrace
