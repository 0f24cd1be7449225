#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "compression/parts.h"
#include "sim/block_code.h"
#include "sim/lane_sum.h"
#include "sim/random.h"

namespace gradrace {

template <class Real>
using BitsOf = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

/// Bits that are ordered as |x| is, those of NaN above all others.
template <class Real>
BitsOf<Real> magnitude(Real x) {
  return std::bit_cast<BitsOf<Real>>(x) & (~BitsOf<Real>{0} >> 1);
}

/// ||v||_2.
template <class Real>
double norm(std::span<const Real> v) {
  return std::sqrt(lane_sum(v.size(), [&](std::size_t j) {
    const double x = v[j];
    return x * x;
  }));
}

/// f(the next numbers, a word for each) of all; without `words` half_word for each.
template <class Real, class Function>
void with_words(std::span<Real> v, Stream* words, const Function& f) {
  constexpr std::size_t at_once = 1024;
  std::uint32_t drawn[at_once];
  if (!words) std::ranges::fill(drawn, half_word);
  while (!v.empty()) {
    const std::span<Real> some = v.first(std::min(at_once, v.size()));
    if (words) words->fill({drawn, some.size()});
    f(some, drawn);
    v = v.subspan(some.size());
  }
}

/// Each part of a row becomes what a code of levels or signs says, one after the other.  Bytes of
/// the levels by Elias's code, where they are sent so; else 0.
template <class Real>  // float, double
double code_parts(std::span<Real> row, const Parts& parts, const BlockCode& code, Stream& words);

/// What a kind derives from whose block_code() is of levels or signs.
template <class Kind>
struct CoderOfParts : CompressorOf<Kind> {
  Parts parts = {};

  template <class Real>
  double make(std::span<Real> row, Stream& words) const {
    return code_parts(row, parts, *this->block_code(row.size()), words);
  }
};

}  // namespace gradrace
