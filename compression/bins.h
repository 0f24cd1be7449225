#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace gradrace {

/// Those numbers that are not 0, of mean m and standard deviation sigma, become each the mean of
/// those in its bin, of n: floor((v - m) / s + n / 2), 0 to n - 1, s = 6 sigma / n.
template <class Real>
void round_to_bins(std::span<Real> v, double n) {
  struct Bin {
    double sum = 0, count = 0;
  };
  double count = 0, sum = 0, squares = 0;
  for (const double x : v) count += x != 0, sum += x;
  if (count == 0) return;
  const double mean = sum / count;
  for (const double x : v) squares += x != 0 ? (x - mean) * (x - mean) : 0;
  const double width = 6 * std::sqrt(squares / count) / n;
  if (width == 0) return;
  if (!std::isfinite(width))
    return void(std::ranges::fill(v, std::numeric_limits<Real>::quiet_NaN()));
  std::vector<Bin> bins(static_cast<std::size_t>(n));
  const auto bin_of = [&](double x) -> Bin& {
    const double place = std::floor((x - mean) / width + n / 2);
    return bins[static_cast<std::size_t>(std::clamp(place, 0.0, n - 1))];
  };
  for (const double x : v)
    if (x != 0) bin_of(x).sum += x, ++bin_of(x).count;
  for (Real& x : v)
    if (x != 0) x = static_cast<Real>(bin_of(x).sum / bin_of(x).count);
}

}  // namespace gradrace
