#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/host_device.h"

namespace gradrace {

/// A number v of a part of a message becomes sign(v) l scale / s: l is one of the two whole numbers
/// beside x = s |v| / scale, the upper one where u < x - floor(x), in 24 bits; u has the first ones
/// of its word.  |v| <= scale, s < 2^24.
template <class Real>
struct RoundToLevel {
  Real scale, s, unit;  // unit: scale / s

  GRADRACE_HD RoundToLevel(Real scale_of, Real levels)
      : scale(scale_of), s(levels), unit(scale_of / levels) {}

  /// l of what v has become.
  GRADRACE_HD std::uint32_t level(Real rounded) const {
    return static_cast<std::uint32_t>(std::abs(double{rounded}) / double{unit} + 0.5);
  }

  GRADRACE_HD Real operator()(Real v, std::uint32_t word) const {
    const Real place = s * (std::abs(v) / scale);
    const auto lower = static_cast<std::int32_t>(place);
    const auto above = static_cast<std::int32_t>((place - static_cast<Real>(lower)) * (1 << 24));
    const auto u = static_cast<std::int32_t>(word >> 8);
    return std::copysign(static_cast<Real>(lower + (u < above)) * unit, v);
  }
};

/// Bits of Elias's omega code of a number from 1 on.
GRADRACE_HD constexpr std::uint32_t elias_bits(std::uint32_t number) {
  std::uint32_t bits = 1;
  while (number > 1) {
    const auto length = static_cast<std::uint32_t>(std::bit_width(number));
    bits += length, number = length - 1;
  }
  return bits;
}

/// Of a number of a bucket by the two codes of QSGD (compression/qsgd.cpp): `sparse` of one that is
/// not 0, and comes so many places after the one before.
struct EliasBits {
  double sparse = 0, dense = 0;

  GRADRACE_HD void add(std::uint32_t level, std::uint32_t places) {
    dense += 1 + elias_bits(level + 1);
    if (level > 0) sparse += elias_bits(places) + 1 + elias_bits(level);
  }
  /// Of the bucket.
  GRADRACE_HD double shorter() const { return 32 + (sparse < dense ? sparse : dense); }
};

/// That word rounds to the nearer of two levels.
inline constexpr std::uint32_t half_word = 1u << 31;

/// What the blocks of a GPU's threads make of a row as a compressor on the CPU does: part by part
/// numbers are rounded to levels of a scale, or become its signs; or some of the row's stay, or of
/// each chunk of a part, and those of the part become means of bins (compression/bins.h); or a
/// tensor becomes the product of two factors (compression/factors.h), where these are less.
struct BlockCode {
  enum class Kind : std::uint8_t { whole, levels, signs, largest, drawn, chunks, factors };
  enum class Scale : std::uint8_t { one, largest, norm, mean, root_mean_square };

  Kind kind = Kind::whole;
  Scale scale = Scale::largest;  // of levels and signs
  bool at_random = true;         // between levels; else to the nearer one
  bool elias = false;            // levels are sent by Elias's code
  double levels = 1;
  double clip = 0;           // numbers are cut off at so many standard deviations first; 0: none
  std::uint64_t bucket = 0;  // numbers of a part; 0: a part is a tensor
  std::uint64_t kept = 0;    // of the row, or of a chunk
  double factor = 1;         // of those that are drawn
  std::uint64_t chunk = 0;   // numbers of a chunk
  double bins = 0;           // at most 256; 0: numbers stay as they are
  std::uint64_t rank = 0;    // columns of a factor
  bool goes_on = true;       // a factor does, from message to message
  std::uint64_t work = 0;    // numbers of the longest of the factors that do not
};

}  // namespace gradrace
