#pragma once

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

  GRADRACE_HD Real operator()(Real v, std::uint32_t word) const {
    const Real place = s * (std::abs(v) / scale);
    const auto lower = static_cast<std::int32_t>(place);
    const auto above = static_cast<std::int32_t>((place - static_cast<Real>(lower)) * (1 << 24));
    const auto u = static_cast<std::int32_t>(word >> 8);
    return std::copysign(static_cast<Real>(lower + (u < above)) * unit, v);
  }
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
