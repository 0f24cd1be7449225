#include "sim/theory.h"

#include <algorithm>
#include <cmath>

namespace gradrace {

Mixing mixing_of_all(std::uint32_t learners, std::uint32_t period) {
  Mixing mixing{.eigenvalues = std::vector<std::complex<double>>(learners), .period = period};
  mixing.eigenvalues.front() = 1;
  return mixing;
}

Mixing mixing_of_groups(std::uint32_t learners, std::uint32_t groups) {
  return {.rho = learners > 1 ? (groups - 1.0) / (learners - 1.0) : 0};
}

double spectral_gap(const Mixing& mixing) {
  if (mixing.eigenvalues.empty()) return 1 - mixing.second.value_or(mixing.rho);
  double second = 0;
  for (std::size_t k = 1; k < mixing.eigenvalues.size(); ++k)
    second = std::max(second, std::abs(mixing.eigenvalues[k]));
  return 1 - second;
}

Bounds slowest_of(std::uint32_t learners, const Distribution& law, std::uint32_t minibatches) {
  const double n = minibatches, p = learners;
  if (minibatches == 0) return {0, 0};
  if (learners == 1) return {n * law.mean(), n * law.mean()};
  const double slowest = law.expected_order_statistic(learners, learners);
  if (minibatches == 1) return {slowest, slowest};
  if (const auto sum = law.sum(minibatches)) {
    const double known = sum->expected_order_statistic(learners, learners);
    return {known, known};
  }
  const double spread = std::sqrt(n * law.variance()) * (p - 1) / std::sqrt(2 * p - 1);
  return {slowest + (n - 1) * law.mean(), std::min(n * slowest, n * law.mean() + spread)};
}

std::optional<double> time_between_minibatches(const Conditions& conditions, double extra) {
  if (conditions.law) return (conditions.law->mean() + extra) / conditions.learners;
  if (conditions.means.empty()) return {};
  double rate = 0;
  for (const double mean : conditions.means) rate += 1 / (mean + extra);
  return 1 / rate;
}

double time_of_minibatches(const Conditions& conditions, std::uint32_t minibatches) {
  if (conditions.law) return minibatches * conditions.law->mean() / conditions.learners;
  return minibatches * *time_between_minibatches(conditions);
}

/// Between departures in a closed network of so many learners: a delay without queues, then two
/// stations that share themselves equally.
static double mean_value_analysis(std::uint32_t learners, double delay, double first,
                                  double second) {
  double at_first = 0, at_second = 0, between = 0;
  for (std::uint32_t n = 1; n <= learners; ++n) {
    const double in_first = first * (1 + at_first), in_second = second * (1 + at_second);
    between = (delay + in_first + in_second) / n;
    at_first = in_first / between;
    at_second = in_second / between;
  }
  return between;
}

std::optional<Estimate> time_on_road(const Conditions& conditions, std::uint32_t gradients) {
  const Road& road = *conditions.road;
  const double k = gradients;
  const double links = road.outgoing + road.incoming;
  if (road.only_links && conditions.law && (!conditions.ties || links == 0)) {
    const double delay = conditions.law->mean() + road.alone - links;
    return {{k * mean_value_analysis(conditions.learners, delay, road.outgoing, road.incoming),
             Basis::exact}};
  }
  const auto never_waits = time_between_minibatches(conditions, road.alone);
  if (!never_waits) return {};
  const double link = std::max(road.outgoing, road.incoming);
  const double server = k * road.per_gradient + road.per_update;
  return {{std::max({k * *never_waits, k * link, server}), Basis::lower}};
}

std::optional<Bounds> slowest_of(const Conditions& conditions, std::uint32_t minibatches) {
  if (conditions.law) return slowest_of(conditions.learners, *conditions.law, minibatches);
  if (!conditions.slowest || conditions.means.empty()) return {};
  if (minibatches == 0) return Bounds{0, 0};
  const auto known = conditions.slowest(minibatches, std::numeric_limits<double>::infinity());
  return known ? std::optional(Bounds{*known, *known}) : std::nullopt;
}

std::optional<double> order_statistic(const Conditions& conditions, std::uint32_t k) {
  if (k == conditions.learners) return slowest_minibatch(conditions);
  if (conditions.law) return conditions.law->expected_order_statistic(k, conditions.learners);
  return conditions.kth_smallest ? conditions.kth_smallest(k) : std::nullopt;
}

std::optional<double> slowest_minibatch(const Conditions& conditions, double cap) {
  const std::uint32_t P = conditions.learners;
  if (!conditions.law) return conditions.slowest ? conditions.slowest(1, cap) : std::nullopt;
  return cap < std::numeric_limits<double>::infinity()
             ? conditions.law->expected_capped_order_statistic(P, P, cap)
             : conditions.law->expected_order_statistic(P, P);
}

}  // namespace gradrace
