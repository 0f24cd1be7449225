#include "distributions/quantile.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "distributions/law.h"

namespace gradrace {
namespace {

constexpr double smallest = std::numeric_limits<double>::min();

/// low < x <= high, and the law has no break between: in log x and log survival, where tails are
/// nearly straight.
double root_between(const Distribution& law, double survival, double low, double high) {
  const auto excess = [&](double y) {
    return std::log(std::max(law.survival(std::exp(y)), smallest)) - std::log(survival);
  };
  const double from = std::log(std::max(low, smallest));
  const double to = std::log(high);
  const double at_from = excess(from);
  const double at_to = excess(to);
  if (!(at_from > 0)) return low;
  if (!(at_to < 0)) return high;
  std::uintmax_t steps = 200;
  const boost::math::tools::eps_tolerance<double> close(52);
  const auto [left, right] =
      boost::math::tools::toms748_solve(excess, from, to, at_from, at_to, close, steps);
  return std::clamp(std::exp((left + right) / 2), low, high);
}

}  // namespace

double inverse_survival_between(const Distribution& law, double q, double low, double high) {
  for (const double at : breaks_of(law)) {
    if (law.survival(at) > q) {
      low = std::max(low, at);
      continue;
    }
    if (at > high) break;
    if (law.survival(std::nextafter(at, 0.0)) > q) return at;
    high = at;
    break;
  }
  return low < high ? root_between(law, q, low, high) : high;
}

}  // namespace gradrace
