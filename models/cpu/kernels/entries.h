#pragma once

#include <cstddef>
#include <cstdint>

namespace gradrace::kernels {

/// A number of a row that is not 0.
struct ByteEntry {
  static constexpr std::size_t most_places = std::size_t{1} << 24;
  std::uint32_t word;  // its place * 256 + its byte
};
struct FloatEntry {
  std::uint32_t place;
  float x;
};

}  // namespace gradrace::kernels
