#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

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

/// max |v_i|; NaN if one is.
template <class Real>
Real largest(std::span<const Real> v) {
  std::make_signed_t<BitsOf<Real>> result = 0;
  for (const Real x : v) result = std::max(result, static_cast<decltype(result)>(magnitude(x)));
  return std::bit_cast<Real>(result);
}

/// ||v||_2.
template <class Real>
double norm(std::span<const Real> v) {
  return std::sqrt(lane_sum(v.size(), [&](std::size_t j) {
    const double x = v[j];
    return x * x;
  }));
}

/// Words that round to the nearer of two levels.
struct Halves {
  void fill(std::span<std::uint32_t> words) const { std::ranges::fill(words, half_word); }
};

/// f(the next numbers, a word for each) of all.
template <class Real, class Words, class Function>
void with_words(std::span<Real> v, Words& words, const Function& f) {
  constexpr std::size_t at_once = 1024;
  std::uint32_t drawn[at_once];
  while (!v.empty()) {
    const std::span<Real> some = v.first(std::min(at_once, v.size()));
    words.fill({drawn, some.size()});
    f(some, drawn);
    v = v.subspan(some.size());
  }
}

/// RoundToLevel of each, with the next words.
template <class Real, class Words>
void round_to_levels(std::span<Real> v, Real scale, Real s, Words& words) {
  if (scale == 0) return;
  if (!std::isfinite(scale))
    return void(std::ranges::fill(v, std::numeric_limits<Real>::quiet_NaN()));
  const RoundToLevel<Real> round(scale, s);
  with_words(v, words, [round](std::span<Real> x, const std::uint32_t* drawn) {
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = round(x[j], drawn[j]);
  });
}

}  // namespace gradrace
