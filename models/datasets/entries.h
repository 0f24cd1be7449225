#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

/// Rows' entries: their numbers that are not 0, in the order of their places.  They stand in fours;
/// the last four of a row is padded with zeros at its last place.
namespace gradrace::kernels {

inline constexpr std::size_t entries_at_once = 4;
inline constexpr std::size_t most_places = std::numeric_limits<std::uint32_t>::max();

/// Of numbers that are bytes: 16 bits each, the first of them the lowest, which are byte + 256
/// (places from the entry before it, of the first from place 0).  Where these are more than
/// most_distance, entries of byte 0 are in between.
struct FourBytes {
  std::uint64_t word;
};
inline constexpr std::size_t most_distance = 255;

/// Of other numbers.
struct FourFloats {
  std::uint32_t places[entries_at_once];
  float x[entries_at_once];
};

}  // namespace gradrace::kernels
