#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "compression/levels.h"
#include "compression/parts.h"

namespace gradrace {

/// Rounds each number of a bucket to one of s levels of either sign, at random.
struct Qsgd final : CoderOfParts<Qsgd> {
  double levels = 1;  // s
  bool of_largest = false, elias = false;

  double bytes(double numbers) const override {
    if (elias)
      return parts.sum(numbers, [this](double d) { return std::ceil(most_elias_bits(d) / 8); });
    return packed_bytes(numbers, 1 + std::ceil(std::log2(levels + 1)), parts.count(numbers));
  }
  bool bytes_vary() const override { return elias; }
  /// In the mean, of a bucket of d numbers, whichever code is shorter: of those that are not 0, or
  /// of all (Alistarh et al., Theorem 3.2 and Lemma A.6).
  double most_elias_bits(double d) const {
    const double s = levels, squares = s * s + std::min(d, s * std::sqrt(d));
    const double not_0 = std::min(d, s * (s + std::sqrt(d)));
    const double sparse = not_0 * (3 + 1.5 * std::log2(2 * (s * s + d) / not_0));
    const double dense = d * ((std::log2(1 + squares / d) + 1) / 2 + 1.5);
    return std::min(sparse, dense) + 32;
  }
  /// Lemma 3.1 of Alistarh et al.; with the largest as scale (max |v_i| / (2 s))^2 a number.
  std::optional<double> most_error(double numbers) const override {
    const double b = parts.longest(numbers), s = levels;
    return of_largest ? b / (4 * s * s) : std::min(b / (s * s), std::sqrt(b) / s);
  }
  std::optional<BlockCode> block_code(std::size_t) const override {
    return BlockCode{.kind = BlockCode::Kind::levels,
                     .scale = of_largest ? BlockCode::Scale::largest : BlockCode::Scale::norm,
                     .elias = elias,
                     .levels = levels,
                     .bucket = parts.bucket.value_or(0)};
  }
};

}  // namespace gradrace
