#pragma once

#include <algorithm>
#include <cmath>

namespace gradrace {

/// Bits of a number that rise by as much from step to step, cut off where they are not allowed.
struct RisingBits {
  double least, most, growth;
  double first = 0;  // before it is cut off

  double at(double step) const { return std::clamp(first + growth * step, least, most); }

  /// Moves them so that those of the first so many steps are `wanted` in the mean.
  void move(double steps, double wanted) {
    const double rise = growth * (steps - 1);
    double low = least - std::abs(rise) - 1, high = most + std::abs(rise) + 1;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      (mean_of_line(middle, middle + rise) < wanted ? low : high) = middle;
    }
    first = (low + high) / 2;
  }

 private:
  /// Of what goes from one number to another, cut off.
  double mean_of_line(double from, double to) const {
    if (std::abs(to - from) < 1e-9) return std::clamp(from, least, most);
    const auto integral = [&](double x) {
      const double inside = std::clamp(x, least, most);
      return inside * inside / 2 + (x - inside) * inside;
    };
    return (integral(to) - integral(from)) / (to - from);
  }
};

}  // namespace gradrace
