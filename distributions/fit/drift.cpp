#include "distributions/fit/drift.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "distributions/fit/structure.h"

namespace gradrace {

namespace {

constexpr std::size_t fewest = 40;

/// Means of x in bins of nearly equal size, one after another.
void add_bins(std::span<const double> x, std::vector<double>& bins) {
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    const std::size_t begin = bin * x.size() / bins.size(),
                      end = (bin + 1) * x.size() / bins.size();
    bins[bin] += mean_of(x.subspan(begin, end - begin));
  }
}

double later_minus_earlier(std::span<const double> x) {
  const std::size_t half = x.size() / 2;
  return mean_of(x.subspan(half)) - mean_of(x.first(half));
}

/// Standard deviation of the difference of the halves' means, if they had one mean.
double error_of(std::span<const double> x) {
  double squares = 0, products = 0;
  const std::size_t quarter = x.size() / 4;
  for (std::size_t part = 0; part < 4; ++part) {
    const auto of = x.subspan(part * quarter, quarter);
    const double mean = mean_of(of);
    for (std::size_t i = 0; i < quarter; ++i) {
      squares += (of[i] - mean) * (of[i] - mean);
      if (i > 0) products += (of[i] - mean) * (of[i - 1] - mean);
    }
  }
  if (squares == 0) return 0;
  const double n = static_cast<double>(4 * quarter);
  const double r = std::clamp(products / squares + 4 / n, 0.0, 0.99);  // its bias in four parts
  return std::sqrt(4 * squares / (n * n) * (1 + r) / (1 - r));
}

}  // namespace

std::optional<double> drift_of(const Trace& trace) {
  std::vector<const std::vector<double>*> long_ones;
  std::size_t shortest = 0;
  for (const auto& times : trace.series) {
    if (times.size() < fewest) continue;
    shortest = long_ones.empty() ? times.size() : std::min(shortest, times.size());
    long_ones.push_back(&times);
  }
  if (long_ones.empty()) return {};
  std::vector<double> ranks(shortest), times(2);
  for (const auto* one : long_ones) {
    add_bins(centred_ranks(*one), ranks);
    std::vector<double> halves(2);
    add_bins(*one, halves);
    for (std::size_t half = 0; half < 2; ++half) times[half] += halves[half] / mean_of(*one);
  }
  const double ratio = times[1] / times[0];
  const bool is_chance = std::abs(later_minus_earlier(ranks)) <= 5 * error_of(ranks);
  const bool is_small = std::max(ratio, 1 / ratio) < 1.05;
  if (is_chance || is_small) return {};
  return ratio;
}

}  // namespace gradrace
