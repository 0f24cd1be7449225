#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/datasets/entries.h"
#include "models/datasets/listed_numbers.h"
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

RowEntries row_entries(const ListedNumbers& numbers);

inline std::size_t zeros_of(const auto& numbers) {
  return static_cast<std::size_t>(std::ranges::count(numbers, 0));
}

}  // namespace gradrace
