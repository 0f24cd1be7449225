#include "analysis/theory/staleness_theory.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "distributions/integrand_budget.h"
#include "distributions/law.h"

namespace gradrace {
namespace {

/// 0, quantiles and breaks, ascending.
std::vector<double> panels(const Distribution& law) {
  std::vector<double> places = breaks_of(law);
  places.push_back(0);
  constexpr int steps = 100;
  for (int i = 0; i < steps; ++i) places.push_back(law.quantile(i / double{steps}));
  for (int halving = 1; halving <= 40; ++halving) {
    places.push_back(law.quantile(0.01 * std::ldexp(1, -halving)));
    places.push_back(law.quantile(1 - 0.01 * std::ldexp(1, -halving)));
  }
  std::erase_if(places, [](double x) { return !(x >= 0 && std::isfinite(x)); });
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

std::optional<StalenessLaw> memoryless_staleness(ReadOrder reading, std::uint32_t k,
                                                 std::uint32_t learners) {
  const double p = learners;
  if (reading == ReadOrder::together) return StalenessLaw{k / p, 1 - k / p};
  if (reading == ReadOrder::other) return {};
  const double q = 1 - 1 / p;
  const double ratio = std::pow(q, k);
  const double stale = p / k * (1 - ratio);
  const double fresh = 1 - (reading == ReadOrder::before_update ? stale : q * stale);
  return StalenessLaw{std::max(fresh, 0.0), ratio};
}

/// By parts: 1 - (P-1)/E[X] integral of S^2 S_e^(P-2), with E[X] S_e summed up panel by panel.
std::optional<double> fresh_fraction_of_async(const Distribution& runtime, std::uint32_t learners) {
  if (learners == 1) return 1;
  if (runtime.has_atoms()) return {};
  using Gauss = boost::math::quadrature::gauss<double, 15>;
  const auto survival = [&](double x) {
    IntegrandBudget::charge(1);
    return runtime.survival(x);
  };
  const double mean = runtime.mean();
  const auto x = panels(runtime);
  double passed = 0;  // integral of S up to the panel
  double stale = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const auto rest = [&](double y) {
      return std::max(0.0, 1 - (passed + Gauss::integrate(survival, x[i - 1], y)) / mean);
    };
    stale += Gauss::integrate(
        [&](double y) {
          const double s = survival(y);
          return s * s * std::pow(rest(y), learners - 2.0);
        },
        x[i - 1], x[i]);
    passed += Gauss::integrate(survival, x[i - 1], x[i]);
  }
  return std::clamp(1 - (learners - 1) / mean * stale, 0.0, 1.0);
}

std::optional<Estimate> fresh_fraction(const Distribution& runtime, const Theory& theory,
                                       std::uint32_t k, std::uint32_t learners) {
  if (theory.staleness == 0.0) return Estimate{1, Basis::exact};
  const Ageing ageing = runtime.ageing();
  if (ageing == Ageing::memoryless) {
    const auto law = memoryless_staleness(theory.reading, k, learners);
    return law ? std::optional(Estimate{law->fresh, Basis::exact}) : std::nullopt;
  }
  if (theory.reading == ReadOrder::before_update && k == 1) return Estimate{0, Basis::exact};
  if (k == 1 && theory.reading != ReadOrder::other) {
    const auto fresh = fresh_fraction_of_async(runtime, learners);
    return fresh ? std::optional(Estimate{*fresh, Basis::exact}) : std::nullopt;
  }
  if (theory.reading != ReadOrder::together || ageing == Ageing::neither) return {};
  const double by_chance = static_cast<double>(k) / learners;
  return Estimate{by_chance, ageing == Ageing::new_longer ? Basis::upper : Basis::lower};
}

double least_fresh_probability(Ageing ageing, ReadOrder reading, std::uint32_t k,
                               std::uint32_t learners) {
  const double one = 1.0 / learners;
  if (ageing == Ageing::memoryless) return reading == ReadOrder::together ? k * one : one;
  return ageing == Ageing::new_shorter ? one : 0;
}

}  // namespace gradrace
