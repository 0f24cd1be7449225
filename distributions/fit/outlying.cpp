#include "distributions/fit/outlying.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "distributions/fit/structure.h"

namespace gradrace {

namespace {

/// Above which a learner's time is outlying.
double outlying_from(const std::vector<double>& times) {
  constexpr double sd_of_normal = 1.4826,
                   far = 5;  // median distance of the normal law: sd / 1.4826
  const double median = median_of(times);
  std::vector<double> distances;
  for (const double x : times) distances.push_back(std::abs(std::log(x / median)));
  return median * std::exp(std::max(std::log(2.0), far * sd_of_normal * median_of(distances)));
}

double quantile_of(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const auto place = static_cast<std::size_t>(p * static_cast<double>(values.size() - 1));
  return values[place];
}

constexpr std::size_t fewest = 5;  // outliers with a law of their own
constexpr double most = 0.1;       // of all times

/// The outlying of all times, which are counted.
std::vector<double> those(const std::vector<std::vector<double>>& evened,
                          const std::vector<std::vector<bool>>& outlying, double& all) {
  std::vector<double> times;
  for (std::size_t learner = 0; learner < evened.size(); ++learner) {
    for (std::size_t i = 0; i < evened[learner].size(); ++i, ++all) {
      if (outlying[learner][i]) times.push_back(evened[learner][i]);
    }
  }
  return times;
}

/// Whether an outlier is followed by another far more often than by chance.
bool come_in_runs(const std::vector<std::vector<bool>>& outlying, double share) {
  double before_another = 0, all = 0;
  for (const auto& one : outlying) {
    for (std::size_t i = 0; i + 1 < one.size(); ++i) {
      if (!one[i]) continue;
      all += 1;
      before_another += one[i + 1];
    }
  }
  const double expected = all * share;
  return before_another > expected + 4 * std::sqrt(expected) + 1;
}

}  // namespace

std::vector<std::vector<bool>> outlying_times(const Trace& trace) {
  std::vector<std::vector<bool>> result;
  for (const auto& times : trace.series) {
    const double from = outlying_from(times);
    auto& one = result.emplace_back();
    for (const double x : times) one.push_back(x > from);
  }
  return result;
}

Trace without(const Trace& trace, const std::vector<std::vector<bool>>& left_out) {
  Trace result{trace.file, trace.hash, trace.learners, {}};
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
    auto& times = result.series.emplace_back();
    for (std::size_t i = 0; i < trace.series[learner].size(); ++i) {
      if (!left_out[learner][i]) times.push_back(trace.series[learner][i]);
    }
  }
  return result;
}

std::size_t slow_beginning(const Trace& trace) {
  constexpr std::size_t most = 10, fewest_times = 8;
  const std::size_t learners = trace.series.size();
  std::vector<double> from;
  for (const auto& times : trace.series) {
    if (times.size() < fewest_times) return 0;
    const double above = learners == 1 ? *std::max_element(times.begin() + 1, times.end())
                                       : quantile_of(times, 0.95);
    from.push_back(std::max(above, (learners == 1 ? 3 : 1.5) * median_of(times)));
  }
  std::size_t n = 0;
  for (; n < most; ++n) {
    std::size_t slow = 0;
    for (std::size_t learner = 0; learner < learners; ++learner) {
      const auto& times = trace.series[learner];
      slow += n < times.size() / 4 && times[n] > from[learner];
    }
    if (10 * slow < 9 * learners) break;
  }
  return n;
}

std::vector<std::size_t> common_outliers(const std::vector<std::vector<bool>>& outlying) {
  std::vector<std::size_t> draws;
  const std::size_t rounds = std::ranges::min(outlying, {}, &std::vector<bool>::size).size();
  for (std::size_t n = 0; n < rounds && outlying.size() > 1; ++n) {
    const auto count = std::ranges::count_if(outlying, [&](const auto& one) { return one[n]; });
    if (count > 1 && 10 * static_cast<std::size_t>(count) >= 9 * outlying.size())
      draws.push_back(n);
  }
  return draws;
}

std::optional<OutlierLaw> few_outliers(const std::vector<std::vector<double>>& evened,
                                       const std::vector<std::vector<bool>>& outlying) {
  double all = 0;
  const auto times = those(evened, outlying, all);
  const double share = static_cast<double>(times.size()) / all;
  if (times.empty() || times.size() >= fewest || share > most) return {};
  auto law = fit_family("deterministic", {times});
  if (!law) return {};
  return OutlierLaw{share, std::move(*law), times.size()};
}

std::optional<OutlierLaw> outlier_law(const std::vector<std::vector<double>>& evened,
                                      const std::vector<std::vector<bool>>& outlying,
                                      const Fits& of_all, const Fits& of_others) {
  double all = 0;
  const auto times = those(evened, outlying, all);
  constexpr double gain = 10;
  const auto count = static_cast<double>(times.size());
  const double share = count / all;
  if (times.size() < fewest || share > most || of_all.fits.empty() || of_others.fits.empty())
    return {};
  if (come_in_runs(outlying, share)) return {};
  if (common_outliers(outlying).size() * evened.size() * 2 > times.size()) return {};
  if (std::ranges::all_of(times, [&](double x) { return x == times.front(); })) return {};
  const Fits of_outliers = fit_families(times);
  if (of_outliers.fits.empty() || std::isnan(of_outliers.fits.front().aic)) return {};
  const double of_shares = count * std::log(share) + (all - count) * std::log1p(-share);
  const double aic = of_others.fits.front().aic + of_outliers.fits.front().aic + 4 - 2 * of_shares;
  if (!(aic + gain < of_all.fits.front().aic)) return {};
  return OutlierLaw{share, of_outliers.fits.front(), times.size()};
}

}  // namespace gradrace
