#include "distributions/fit/observations.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gradrace {

MeasuredSteps measured_steps(const Observations& observed) {
  const std::size_t n = observed.times.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (observed.times[a] != observed.times[b]) return observed.times[a] < observed.times[b];
    return observed.is_cancelled(a) < observed.is_cancelled(b);
  });
  MeasuredSteps steps;
  double left = 1, counted = static_cast<double>(n);  // P(longer), and how many it is shared by
  for (std::size_t i = 0; i < n; ++i) {
    const auto here = static_cast<double>(n - i);
    if (observed.is_cancelled(order[i])) {
      left *= here / counted;
      counted = here - 1;
      continue;
    }
    steps.times.push_back(observed.times[order[i]]);
    steps.below.push_back(1 - left * (here / counted));
    steps.at.push_back(1 - left * ((here - 1) / counted));
  }
  return steps;
}

double kolmogorov_distance(const MeasuredSteps& steps, const Distribution& law,
                           std::uint32_t slowest_of) {
  const auto all_at_most = [&](double x) {
    return slowest_of == 1 ? 1 - law.survival(x) : std::pow(1 - law.survival(x), slowest_of);
  };
  double distance = 0;
  const std::size_t n = steps.times.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double x = steps.times[i];
    const bool first = i == 0 || steps.times[i - 1] < x;
    const bool last = i + 1 == n || x < steps.times[i + 1];
    if (first) {
      const double law_below = all_at_most(std::nextafter(x, -1.0));
      distance = std::max(distance, std::abs(law_below - steps.below[i]));
    }
    if (last) distance = std::max(distance, std::abs(steps.at[i] - all_at_most(x)));
  }
  return distance;
}

}  // namespace gradrace
