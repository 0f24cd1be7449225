#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gradrace {

/// A whole number of each learner: one for all, or a list, one for each.  A list of equal numbers
/// is one for all.
class PerLearner {
 public:
  PerLearner(std::uint32_t number = 1) : number_(number) {}
  /// Of at least one.
  explicit PerLearner(std::vector<std::uint32_t> numbers)
      : number_(numbers[0]), listed_(static_cast<std::uint32_t>(numbers.size())) {
    if (std::ranges::count(numbers, number_) < std::ssize(numbers)) numbers_ = std::move(numbers);
  }

  std::uint32_t operator[](std::uint32_t learner) const {
    return differs() ? numbers_[learner] : number_;
  }
  bool differs() const { return !numbers_.empty(); }
  /// The length of the list; none: there was no list.
  std::optional<std::size_t> listed() const {
    return listed_ > 0 ? std::optional<std::size_t>(listed_) : std::nullopt;
  }

  std::uint32_t least() const { return std::ranges::min(all()); }
  std::uint32_t greatest() const { return std::ranges::max(all()); }
  double mean() const {
    return std::accumulate(all().begin(), all().end(), 0.0) / static_cast<double>(all().size());
  }
  /// Ascending, each once.
  std::vector<std::uint32_t> different() const {
    std::vector<std::uint32_t> result(all().begin(), all().end());
    std::ranges::sort(result);
    result.erase(std::ranges::unique(result).begin(), result.end());
    return result;
  }

 private:
  std::span<const std::uint32_t> all() const {
    return differs() ? std::span(numbers_) : std::span(&number_, 1);
  }

  std::uint32_t number_, listed_ = 0;
  std::vector<std::uint32_t> numbers_ = {};  // [learner], where they differ
};

}  // namespace gradrace
