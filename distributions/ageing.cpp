#include "distributions/ageing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "distributions/law.h"

namespace gradrace {
namespace {

constexpr double tie = 1e-11;
constexpr std::size_t most_breaks = 1000;  // the work grows with their square
constexpr double log_smallest = -690;      // of a survival that a double still holds well

/// Quantiles, both sides of every break, and twice the last place again and again.
std::vector<double> places(const Distribution& law) {
  std::vector<double> places;
  constexpr int steps = 60;
  for (int i = 1; i < steps; ++i) places.push_back(law.quantile(i / double{steps}));
  for (int digits = 2; digits <= 15; ++digits) {
    const double p = std::pow(10.0, -digits);
    places.push_back(law.quantile(p));
    places.push_back(law.quantile(1 - p));
  }
  for (const double at : breaks_of(law)) {
    places.push_back(at);
    places.push_back(at * (1 - 1e-9));
  }
  double far = *std::max_element(places.begin(), places.end());
  for (int i = 0; i < 40; ++i) places.push_back(far *= 2);
  std::erase_if(places,
                [&](double x) { return !(x >= 0 && std::isfinite(x) && law.survival(x) > 0); });
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

Ageing ageing_on_grid(const Distribution& law) {
  if (breaks_of(law).size() > most_breaks) return Ageing::neither;
  const auto x = places(law);
  std::vector<double> log_survival(x.size());
  std::transform(x.begin(), x.end(), log_survival.begin(),
                 [&](double at) { return std::log(law.survival(at)); });

  // The sum u + t is rounded; a break that it stands on is given the benefit of the doubt.
  constexpr double rounding = 1e-13;
  bool longer = false;
  bool shorter = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i; j < x.size(); ++j) {
      const double both_new = log_survival[i] + log_survival[j];
      if (both_new < log_smallest) break;
      const double sum = x[i] + x[j];
      const double used_low = std::log(law.survival(sum * (1 + rounding)));
      const double used_high = std::log(law.survival(sum * (1 - rounding)));
      shorter = shorter || used_low > both_new + tie;
      longer = longer || used_high < both_new - tie;
      if (shorter && longer) return Ageing::neither;
    }
  }
  if (shorter) return Ageing::new_shorter;
  return longer ? Ageing::new_longer : Ageing::memoryless;
}

}  // namespace gradrace
