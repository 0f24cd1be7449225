#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradrace {

/// A set of ranks 0 to n - 1, whose neighbours are found in O(log n) with a base of 64: a bit for
/// each rank, and above each level one that has a bit for each of its words that is not 0.
class RankSet {
 public:
  explicit RankSet(std::uint32_t ranks) : end_(ranks) {
    std::size_t words = ranks;
    do levels_.emplace_back(words = words / 64 + 1);
    while (words > 1);
  }

  /// Of the ranks: none is found.
  std::uint32_t end() const { return end_; }

  bool contains(std::uint32_t rank) const { return levels_[0][rank / 64] >> rank % 64 & 1; }

  void insert(std::uint32_t rank) {
    std::size_t at = rank;
    for (auto& level : levels_) {
      const std::uint64_t before = level[at / 64];
      level[at / 64] |= std::uint64_t{1} << at % 64;
      if (before) return;
      at /= 64;
    }
  }

  void erase(std::uint32_t rank) {
    std::size_t at = rank;
    for (auto& level : levels_) {
      if (level[at / 64] &= ~(std::uint64_t{1} << at % 64)) return;
      at /= 64;
    }
  }

  /// The least of at least so much, or end().
  std::uint32_t from(std::uint32_t rank) const {
    std::size_t at = rank;
    for (std::size_t i = 0; i < levels_.size(); ++i, at = at / 64 + 1) {
      if (at / 64 >= levels_[i].size()) break;
      if (const std::uint64_t rest = levels_[i][at / 64] >> at % 64)
        return lowest(i, at + static_cast<std::size_t>(std::countr_zero(rest)));
    }
    return end_;
  }

  /// The greatest below, or end().
  std::uint32_t before(std::uint32_t rank) const {
    std::size_t at = rank;
    for (std::size_t i = 0; i < levels_.size(); ++i, at /= 64) {
      const std::uint64_t below = (std::uint64_t{1} << at % 64) - 1;
      if (const std::uint64_t rest = levels_[i][at / 64] & below)
        return highest(i, at / 64 * 64 + 63 - static_cast<std::size_t>(std::countl_zero(rest)));
    }
    return end_;
  }

 private:
  std::uint32_t lowest(std::size_t level, std::size_t at) const {
    while (level-- > 0)
      at = at * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][at]));
    return static_cast<std::uint32_t>(at);
  }
  std::uint32_t highest(std::size_t level, std::size_t at) const {
    while (level-- > 0)
      at = at * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][at]));
    return static_cast<std::uint32_t>(at);
  }

  std::uint32_t end_;
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace gradrace
