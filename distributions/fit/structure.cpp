#include "distributions/fit/structure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace gradrace {
namespace {

constexpr std::size_t lags = 5;

/// sum (x_i / mean - 1) (x_{i+lag} / mean - 1)
double products(std::span<const double> x, double mean, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < x.size(); ++i)
    sum += (x[i] / mean - 1) * (x[i + lag] / mean - 1);
  return sum;
}

/// Slope of the straight line of least squares through log y at the lags 1, 2, ... as far as y is
/// positive; 0 where that is one place.
double log_slope(std::span<const double> y) {
  double n = 0, x_sum = 0, xx_sum = 0, y_sum = 0, xy_sum = 0;
  for (std::size_t lag = 1; lag < y.size() && y[lag] > 0; ++lag) {
    const double x = static_cast<double>(lag), log_y = std::log(y[lag]);
    n += 1, x_sum += x, xx_sum += x * x, y_sum += log_y, xy_sum += x * log_y;
  }
  return n > 1 ? (n * xy_sum - x_sum * y_sum) / (n * xx_sum - x_sum * x_sum) : 0;
}

double share_between_ranks(const Trace& trace) {
  std::vector<double> all;
  for (const auto& times : trace.series) all.insert(all.end(), times.begin(), times.end());
  const auto ranks = centred_ranks(all);
  double between = 0, squares = 0;
  for (const double r : ranks) squares += r * r;
  for (std::size_t begin = 0, learner = 0; learner < trace.series.size(); ++learner) {
    const std::size_t count = trace.series[learner].size();
    const double mean = mean_of({ranks.data() + begin, count});
    between += static_cast<double>(count) * mean * mean;
    begin += count;
  }
  return squares > 0 ? between / squares : 0;
}

std::vector<double> rank_autocorrelations(const Trace& trace) {
  std::vector<double> covariance(lags + 1);
  for (const auto& times : trace.series) {
    const auto ranks = centred_ranks(times);
    for (std::size_t lag = 0; lag <= lags; ++lag) {
      for (std::size_t i = 0; i + lag < ranks.size(); ++i)
        covariance[lag] += ranks[i] * ranks[i + lag];
    }
  }
  const double all = covariance[0];
  for (double& c : covariance) c = all > 0 ? c / all : 0;
  return covariance;
}

/// Autocorrelation of lag 1, where there is one.
double first_of(const std::vector<double>& autocorrelations) {
  return autocorrelations.size() > 1 ? autocorrelations[1] : 0;
}

}  // namespace

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double median_of(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::ranges::nth_element(x, middle);
  if (x.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(x.begin(), middle)) / 2;
}

std::vector<double> centred_ranks(std::span<const double> x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return x[i]; });
  std::vector<double> ranks(x.size());
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && x[order[end]] == x[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k)
      ranks[order[k]] = static_cast<double>(i + end) / (2 * n) - 0.5;
    i = end;
  }
  return ranks;
}

bool Structure::uneven() const {
  return std::max(share_between, rank_share_between) >= std::max(uneven_share, 3 * share_by_chance);
}

bool Structure::persistent() const {
  return first_of(autocorrelations()) >= std::max(persistent_lag1, 4 / std::sqrt(n));
}

bool Structure::alternating() const {
  return -first_of(autocorrelations()) >= std::max(persistent_lag1, 4 / std::sqrt(n));
}

const std::vector<double>& Structure::autocorrelations() const {
  const double least = std::max(persistent_lag1, 4 / std::sqrt(n));
  const bool by_times = std::abs(first_of(pooled)) >= least;
  return !by_times && std::abs(first_of(rank_pooled)) >= least ? rank_pooled : pooled;
}

Structure structure_of(const Trace& trace) {
  Structure result{};
  double sum = 0, squares = 0, between = 0;
  result.n = static_cast<double>(trace.size());
  for (const auto& times : trace.series) sum += std::accumulate(times.begin(), times.end(), 0.0);
  result.mean = sum / result.n;
  std::vector<double> covariance(lags + 1);
  for (const auto& times : trace.series) {
    const double mean = mean_of(times), count = static_cast<double>(times.size());
    result.learner_means.push_back(mean);
    squares += std::accumulate(times.begin(), times.end(), 0.0, [&](double so_far, double x) {
      return so_far + (x - result.mean) * (x - result.mean);
    });
    between += count * (mean - result.mean) * (mean - result.mean);
    const double own = products(times, mean, 0);
    result.lag1.push_back(own > 1e-20 * count ? products(times, mean, 1) / own
                                              : std::numeric_limits<double>::quiet_NaN());
    for (std::size_t lag = 0; lag <= lags; ++lag) {
      covariance[lag] += products(times, mean, lag) / result.n;
    }
  }
  result.variation = std::sqrt(squares / result.n) / result.mean;
  result.share_between = between / squares;
  if (covariance[0] < 1e-20) covariance.assign(lags + 1, 0);  // rounding
  result.variation_within = std::sqrt(covariance[0]);
  for (const double c : covariance) {
    result.pooled.push_back(covariance[0] > 0 ? c / covariance[0] : 0);
  }
  result.rank_share_between = share_between_ranks(trace);
  result.rank_pooled = rank_autocorrelations(trace);
  const double r = std::clamp(result.autocorrelations()[1], 0.0, 1.0);
  const double by_chance = (static_cast<double>(trace.series.size()) - 1) / (result.n - 1);
  result.share_by_chance = std::min(1.0, by_chance * (1 + r) / std::max(1 - r, 1e-9));
  return result;
}

Verdict verdict_of(const Structure& structure) {
  const bool dependent = structure.persistent() || structure.alternating();
  if (structure.uneven() && (structure.share_between >= Structure::half || !dependent))
    return Verdict::heterogeneous;
  if (!dependent) return Verdict::independent;
  return structure.persistent() ? Verdict::persistent : Verdict::alternating;
}

std::vector<double> speeds_of(const Structure& structure) {
  std::vector<double> speeds;
  for (const double mean : structure.learner_means) speeds.push_back(structure.mean / mean);
  return speeds;
}

std::vector<double> evened_times(const Trace& trace, const Structure& structure) {
  const auto speeds = speeds_of(structure);
  std::vector<double> times;
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
    for (const double x : trace.series[learner]) times.push_back(x * speeds[learner]);
  }
  return times;
}

PersistentLaw persistent_law(const Structure& structure, bool evened) {
  const double variation = evened ? structure.variation_within : structure.variation;
  const double variance = variation * variation;
  if (structure.alternating()) {
    const double all = std::log1p(variance);
    const double first =
        std::log1p(std::max(variance * structure.autocorrelations()[1], std::expm1(-all)));
    return {structure.mean, 0, first / all, std::sqrt(all)};
  }
  std::vector<double> log_covariance;  // of a: log(1 + Cov / mean^2)
  for (const double r : structure.autocorrelations())
    log_covariance.push_back(std::log1p(variance * r));
  const double all = log_covariance[0], first = log_covariance[1];
  const double correlation = std::exp(log_slope(log_covariance));
  const double persisting = first / correlation;
  if (correlation >= 1 || persisting >= all) {
    return {structure.mean, 0, first / all, std::sqrt(all)};
  }
  const double rest = std::expm1(all - persisting);  // (1 + variance) / exp(persisting) - 1
  return {structure.mean, std::sqrt(rest), correlation, std::sqrt(persisting)};
}

}  // namespace gradrace
