#include "distributions/fit/running_average.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "distributions/fit/structure.h"

namespace gradrace {

namespace {

/// Of ranks, 0 where they do not vary.
double correlation(std::span<const double> a, std::span<const double> b) {
  const auto x = centred_ranks(a), y = centred_ranks(b);
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += x[i] * x[i];
    yy += y[i] * y[i];
    xy += x[i] * y[i];
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

/// With those so many places later.
double autocorrelation(std::span<const double> x, std::size_t lag) {
  return correlation(x.first(x.size() - lag), x.subspan(lag));
}

std::vector<double> relative_changes(std::span<const double> x) {
  std::vector<double> changes;
  for (std::size_t i = 1; i < x.size(); ++i) changes.push_back(std::abs(std::log(x[i] / x[i - 1])));
  return changes;
}

/// Of the numbers of which x would be the averages so far: how many are above 0, as times are.
double possible_times(std::span<const double> x) {
  double count = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const auto n = static_cast<double>(i);
    count += (n + 1) * x[i] - n * x[i - 1] > 0;
  }
  return count;
}

double correlation_with_time(std::span<const double> x) {
  std::vector<double> places(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) places[i] = static_cast<double>(i);
  return correlation(x, places);
}

}  // namespace

bool are_running_averages(const Trace& trace) {
  constexpr std::size_t fewest = 20, most = 2000;  // times of a learner
  constexpr double near = 0.7, least = 0.25, errors = 3.5;
  double all = 0, nearness = 0, fall = 0, cluster = 0, possible = 0;
  for (const auto& times : trace.series) {
    if (times.size() < fewest) continue;
    const auto x = std::span(times).first(std::min(times.size(), most));
    const auto changes = relative_changes(x);
    const auto n = static_cast<double>(changes.size());
    all += n;
    nearness += n * autocorrelation(x, 1);
    fall -= n * correlation_with_time(changes);
    cluster += n * autocorrelation(changes, 2);
    possible += possible_times(x);
  }
  if (possible < 0.95 * all) fall = 0;
  return all > 0 && nearness >= near * all &&
         std::max(fall, cluster) >= std::max(least, errors / std::sqrt(all)) * all;
}

}  // namespace gradrace
