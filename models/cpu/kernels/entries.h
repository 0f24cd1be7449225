#pragma once

#include <cstddef>
#include <cstdint>

namespace gradrace::kernels {

/// Of a row's numbers, those that are not 0, in the order of their places, in fours: its last four
/// is filled up with numbers 0 at its last place.
inline constexpr std::size_t entries_at_once = 4;

/// Of bytes: 16 bits each, the first of them the lowest: byte + 256 (places from the entry before
/// it, or from place 0).  A distance above 255 has entries of byte 0 in between.
struct FourBytes {
  std::uint64_t word;
};
inline constexpr std::size_t most_distance = 255;

struct FourFloats {
  std::uint32_t places[entries_at_once];
  float x[entries_at_once];
};

}  // namespace gradrace::kernels
