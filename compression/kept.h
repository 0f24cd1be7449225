#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "sim/reading/fields.h"

namespace gradrace {

/// How many numbers of a row are sent.
struct Kept {
  std::optional<std::uint64_t> k;
  double share = 1;  // without k

  std::size_t of(std::size_t numbers) const {
    const auto part =
        static_cast<std::uint64_t>(std::llround(share * static_cast<double>(numbers)));
    return std::clamp<std::size_t>(k.value_or(part), 1, numbers);
  }

  double count(double numbers) const {
    return static_cast<double>(of(static_cast<std::size_t>(numbers)));
  }

  bool are_all(double numbers) const {
    return numbers > 0 ? count(numbers) >= numbers : !k && share == 1;
  }

  /// Each with its place, unless all are.
  double bytes_with_places(double numbers) const {
    const double sent = count(numbers);
    if (are_all(numbers)) return 4 * numbers;
    return 4 * sent + std::ceil(sent * std::ceil(std::log2(numbers)) / 8);
  }

  void visit(Fields& fields) {
    fields.integer("k", k, at_least(1), "numbers of a gradient that are sent");
    fields.real("share", share, Need::none, {.low = 0, .high = 1, .low_allowed = false},
                "of its numbers, in place of k; one at least");
    fields.need_one("k", "share");
  }
};

}  // namespace gradrace
