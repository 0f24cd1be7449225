#pragma once

#include <cstddef>
#include <cstdint>

/// Rows' numbers in groups, which are the lanes of a product.
namespace gradrace::kernels {

/// How many numbers stand side by side; what is fewer is padded with zeros.
inline constexpr std::size_t lane_count = 16;
constexpr std::size_t in_lanes(std::size_t n) {
  return (n + lane_count - 1) / lane_count * lane_count;
}

/// The numbers of a row from `place` on, a multiple of lane_count.
template <class Number>
struct Group {
  std::uint32_t place;
  Number x[lane_count];
};
using ByteGroup = Group<std::uint8_t>;
using FloatGroup = Group<float>;

}  // namespace gradrace::kernels
