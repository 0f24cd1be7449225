#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gradrace {

/// A place where f is least nearby, and f there.
struct Minimum {
  std::vector<double> at;
  double value;
};

/// From `start`, with a first simplex of that size, until the values of f at its corners differ by
/// less than `close`.  f may be infinite, but not at the start.
/// Source: Nelder and Mead, The Computer Journal 7(4), 1965.
template <class Function>
Minimum nelder_mead(const Function& f, const std::vector<double>& start, double size,
                    double close) {
  const std::size_t d = start.size();
  std::vector<Minimum> corners{{start, f(start)}};
  for (std::size_t i = 0; i < d; ++i) {
    auto at = start;
    at[i] += size;
    corners.push_back({at, f(at)});
  }
  const auto along = [&](const std::vector<double>& middle, double factor) {
    auto at = middle;
    for (std::size_t i = 0; i < d; ++i) at[i] += factor * (corners.back().at[i] - middle[i]);
    const double value = f(at);
    return Minimum{std::move(at), value};
  };
  constexpr int most_steps = 2000;
  for (int step = 0; step < most_steps; ++step) {
    std::stable_sort(corners.begin(), corners.end(),
                     [](const auto& a, const auto& b) { return a.value < b.value; });
    if (corners.back().value - corners.front().value < close) break;
    std::vector<double> middle(d);
    for (std::size_t corner = 0; corner < d; ++corner) {
      for (std::size_t i = 0; i < d; ++i)
        middle[i] += corners[corner].at[i] / static_cast<double>(d);
    }
    Minimum next = along(middle, -1);
    if (next.value < corners.front().value) {
      if (Minimum further = along(middle, -2); further.value < next.value)
        next = std::move(further);
    } else if (!(next.value < corners[d - 1].value)) {
      next = along(middle, next.value < corners.back().value ? -0.5 : 0.5);
    }
    if (next.value < corners.back().value) {
      corners.back() = std::move(next);
      continue;
    }
    for (std::size_t corner = 1; corner <= d; ++corner) {
      for (std::size_t i = 0; i < d; ++i)
        corners[corner].at[i] = (corners[corner].at[i] + corners[0].at[i]) / 2;
      corners[corner].value = f(corners[corner].at);
    }
  }
  return *std::min_element(corners.begin(), corners.end(),
                           [](const auto& a, const auto& b) { return a.value < b.value; });
}

}  // namespace gradrace
