#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace gradrace {

/// A whole number of each learner: one for all, or a list, one for each.  A list of equal numbers
/// is one for all.
class PerLearner {
 public:
  PerLearner(std::uint32_t number = 1) : numbers_{number} {}
  /// Of at least one.
  explicit PerLearner(std::vector<std::uint32_t> numbers)
      : numbers_(std::move(numbers)), listed_(numbers_.size()) {
    if (std::ranges::count(numbers_, numbers_[0]) == std::ssize(numbers_)) numbers_.resize(1);
  }

  std::uint32_t operator[](std::uint32_t learner) const {
    return differs() ? numbers_[learner] : numbers_[0];
  }
  bool differs() const { return numbers_.size() > 1; }
  /// The length of the list; none: there was no list.
  std::optional<std::size_t> listed() const { return listed_; }

  std::uint32_t least() const { return std::ranges::min(numbers_); }
  std::uint32_t greatest() const { return std::ranges::max(numbers_); }
  double mean() const {
    return std::accumulate(numbers_.begin(), numbers_.end(), 0.0) /
           static_cast<double>(numbers_.size());
  }
  /// Ascending, each once.
  std::vector<std::uint32_t> different() const {
    std::vector<std::uint32_t> result = numbers_;
    std::ranges::sort(result);
    result.erase(std::ranges::unique(result).begin(), result.end());
    return result;
  }

 private:
  std::vector<std::uint32_t> numbers_;  // [learner], or one
  std::optional<std::size_t> listed_;
};

}  // namespace gradrace
