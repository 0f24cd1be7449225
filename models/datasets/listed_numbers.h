#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradrace {

/// Rows of which most numbers are 0: the others, row after row, in the order of their places.
struct ListedNumbers {
  std::vector<std::uint64_t> begin = {0};  // [rows + 1] of each row's numbers
  std::vector<std::uint32_t> places;       // from 0
  std::vector<float> x;

  bool empty() const { return begin.size() == 1; }
  std::size_t rows() const { return begin.size() - 1; }
  void end_row() { begin.push_back(x.size()); }

  /// use(place, number) of each of a row.
  void each_of(std::size_t row, const auto& use) const {
    for (std::uint64_t i = begin[row]; i < begin[row + 1]; ++i) use(places[i], x[i]);
  }
};

}  // namespace gradrace
