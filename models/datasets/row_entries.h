#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "models/cpu/kernels/entries.h"
#include "sim/large_pages.h"

namespace gradrace {

/// The numbers of rows that are not 0: of one kind, the other is empty.
struct RowEntries {
  std::vector<std::uint64_t> begin;              // [rows + 1] of each row's fours
  LargeVector<kernels::FourBytes> bytes = {};    // of numbers that are bytes
  LargeVector<kernels::FourFloats> floats = {};  // of others
};

/// Of numbers [rows, features], features >= 1, of which so many are 0.
RowEntries row_entries(std::span<const std::uint8_t> numbers, std::size_t features,
                       std::size_t zeros);
RowEntries row_entries(std::span<const float> numbers, std::size_t features, std::size_t zeros);

/// Sums of bytes, which a compiler makes many of at once.
inline std::size_t zeros_of(const auto& numbers) {
  constexpr std::size_t most = std::numeric_limits<std::uint8_t>::max();
  std::size_t zeros = 0;
  for (std::size_t first = 0; first < numbers.size(); first += most) {
    const std::size_t count = std::min(most, numbers.size() - first);
    std::uint8_t of_some = 0;
    for (std::size_t i = 0; i < count; ++i)
      of_some = static_cast<std::uint8_t>(of_some + (numbers[first + i] == 0));
    zeros += of_some;
  }
  return zeros;
}

}  // namespace gradrace
