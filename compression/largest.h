#pragma once

#include <span>

#include "compression/levels.h"

namespace gradrace {

/// The k-th largest of a row in absolute value.
template <class Real>
struct Largest {
  BitsOf<Real> magnitude;
  std::size_t places;  // before which those that are as large are among the k
};

/// Digit by digit, from the first on: how many numbers begin as the k-th largest does, and go on
/// with each digit.
template <int digit = 11, class Real>
Largest<Real> kth_largest(std::span<const Real> row, std::size_t k) {
  BitsOf<Real> found = 0, decided = 0;  // its first bits, and which these are
  for (int shift = 8 * sizeof(Real) - 1; shift > 0;) {
    const int bits = std::min(digit, shift);
    shift -= bits;
    std::uint32_t counts[1 << digit] = {};
    const BitsOf<Real> mask = (BitsOf<Real>{1} << bits) - 1;
    for (const Real x : row) {
      const BitsOf<Real> m = magnitude(x);
      if ((m & decided) == found) ++counts[m >> shift & mask];
    }
    BitsOf<Real> value = mask;
    while (counts[value] < k) k -= counts[value--];
    found |= value << shift, decided |= mask << shift;
  }
  std::size_t places = 0;
  while (k > 0) k -= magnitude(row[places++]) == found;
  return {found, places};
}

/// The k numbers that are largest in absolute value stay, of equal ones the first; the others are
/// 0.
template <class Real>
void keep_largest(std::span<Real> row, std::size_t k) {
  if (k >= row.size()) return;
  const std::span<const Real> read = row;
  const Largest<Real> last = row.size() < 512 ? kth_largest<4>(read, k) : kth_largest(read, k);
  const auto at_last = row.begin() + static_cast<std::ptrdiff_t>(last.places);
  for (auto x = row.begin(); x < at_last; ++x) *x = magnitude(*x) >= last.magnitude ? *x : Real{0};
  for (auto x = at_last; x < row.end(); ++x) *x = magnitude(*x) > last.magnitude ? *x : Real{0};
}

}  // namespace gradrace
