#include "distributions/catalog.h"

namespace gradrace {

extern const DistributionEntry deterministic_entry, uniform_entry, exponential_entry,
    shifted_exponential_entry, pareto_entry, weibull_entry, gamma_entry, lognormal_entry,
    normal_entry, hyperexponential_entry, two_point_entry, mixture_entry, empirical_entry,
    roofline_entry;

const DistributionCatalog& distribution_catalog() {
  static constexpr const DistributionEntry* entries[] = {
      &deterministic_entry, &uniform_entry,          &exponential_entry, &shifted_exponential_entry,
      &pareto_entry,        &weibull_entry,          &gamma_entry,       &lognormal_entry,
      &normal_entry,        &hyperexponential_entry, &two_point_entry,   &mixture_entry,
      &empirical_entry,     &roofline_entry};
  static constexpr DistributionCatalog catalog{"distributions", "distribution", entries};
  return catalog;
}

extern const PersistenceEntry markov_entry, ar1_entry;

const PersistenceCatalog& persistence_catalog() {
  static constexpr const PersistenceEntry* entries[] = {&markov_entry, &ar1_entry};
  static constexpr PersistenceCatalog catalog{"persistence", "kind", entries};
  return catalog;
}

}  // namespace gradrace
