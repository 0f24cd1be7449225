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

/// What the mean of n successive numbers has for n times its variance, as the second least of four
/// quarters tell it, two of which may hold a change.
double long_variance(std::span<const double> x) {
  const std::size_t quarter = x.size() / 4;
  std::vector<double> variances, correlations;
  for (std::size_t part = 0; part < 4; ++part) {
    const auto of = x.subspan(part * quarter, quarter);
    const double mean = mean_of(of);
    double squares = 0, products = 0;
    for (std::size_t i = 0; i < quarter; ++i) {
      squares += (of[i] - mean) * (of[i] - mean);
      if (i > 0) products += (of[i] - mean) * (of[i - 1] - mean);
    }
    variances.push_back(squares / static_cast<double>(quarter));
    correlations.push_back(squares > 0 ? products / squares : 0);
  }
  std::ranges::sort(variances);
  std::ranges::sort(correlations);
  const double bias = 1 / static_cast<double>(quarter);  // of a correlation about the own mean
  const double r = std::clamp(correlations[1] + bias, 0.0, 0.99);
  return variances[1] * (1 + r) / (1 - r);
}

constexpr int tenths[] = {2, 3, 4, 5, 6, 7, 8};

/// The part that differs most, in tenths; 0: none does.
int part_that_differs(std::span<const double> ranks) {
  const double variance = long_variance(ranks);
  double most = 6;
  int found = 0;
  for (const int part : tenths) {
    const std::size_t first = ranks.size() * static_cast<std::size_t>(10 - part) / 10;
    const auto before = ranks.first(first), after = ranks.subspan(first);
    const double n = static_cast<double>(before.size()), m = static_cast<double>(after.size());
    const double error = std::sqrt(variance * (1 / n + 1 / m));
    const double difference = std::abs(mean_of(after) - mean_of(before));
    if (!(difference > most * error) || error == 0) continue;
    most = difference / error;
    found = part;
  }
  return found;
}

/// Mean of the last part of each over that of its rest, over the learners.
double ratio_of(std::span<const std::vector<double>* const> learners, int part) {
  double before = 0, after = 0;
  for (const auto* one : learners) {
    const std::span<const double> times = *one;
    const std::size_t first = times.size() * static_cast<std::size_t>(10 - part) / 10;
    before += mean_of(times.first(first)) / mean_of(times);
    after += mean_of(times.subspan(first)) / mean_of(times);
  }
  return after / before;
}

std::optional<Drift> drift_among(std::span<const std::vector<double>* const> learners) {
  std::size_t shortest = learners.front()->size();
  for (const auto* one : learners) shortest = std::min(shortest, one->size());
  std::vector<double> ranks(shortest);
  for (const auto* one : learners) add_bins(centred_ranks(*one), ranks);
  const int part = part_that_differs(ranks);
  if (part == 0) return {};
  const double ratio = ratio_of(learners, part);
  if (std::max(ratio, 1 / ratio) < 1.05) return {};
  return Drift{part / 10.0, ratio};
}

}  // namespace

std::optional<Drift> drift_of(const Trace& trace) {
  std::vector<const std::vector<double>*> long_ones;
  for (const auto& times : trace.series)
    if (times.size() >= fewest) long_ones.push_back(&times);
  if (long_ones.empty()) return {};
  if (const auto found = drift_among(long_ones)) return found;
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
    const std::vector<double>* const one = &trace.series[learner];
    if (one->size() < fewest) continue;
    auto found = drift_among({&one, 1});
    if (!found) continue;
    found->learner = learner;
    return found;
  }
  return {};
}

}  // namespace gradrace
