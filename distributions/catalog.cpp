#include "distributions/catalog.h"

namespace gradrace {

extern const DistributionEntry deterministic_entry;
extern const DistributionEntry uniform_entry;
extern const DistributionEntry exponential_entry;
extern const DistributionEntry shifted_exponential_entry;
extern const DistributionEntry pareto_entry;
extern const DistributionEntry weibull_entry;
extern const DistributionEntry gamma_entry;
extern const DistributionEntry lognormal_entry;
extern const DistributionEntry normal_entry;
extern const DistributionEntry hyperexponential_entry;
extern const DistributionEntry two_point_entry;
extern const DistributionEntry mixture_entry;
extern const DistributionEntry empirical_entry;

const DistributionCatalog& distribution_catalog() {
  // clang-format off
  static constexpr const DistributionEntry* entries[] = {
      &deterministic_entry,
      &uniform_entry,
      &exponential_entry,
      &shifted_exponential_entry,
      &pareto_entry,
      &weibull_entry,
      &gamma_entry,
      &lognormal_entry,
      &normal_entry,
      &hyperexponential_entry,
      &two_point_entry,
      &mixture_entry,
      &empirical_entry,
  };
  // clang-format on
  static constexpr DistributionCatalog catalog{"distributions", "distribution", entries};
  return catalog;
}

extern const PersistenceEntry markov_entry;
extern const PersistenceEntry ar1_entry;

const PersistenceCatalog& persistence_catalog() {
  // clang-format off
  static constexpr const PersistenceEntry* entries[] = {
      &markov_entry,
      &ar1_entry,
  };
  // clang-format on
  static constexpr PersistenceCatalog catalog{"persistence", "kind", entries};
  return catalog;
}

}  // namespace gradrace
