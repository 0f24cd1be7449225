#pragma once

#include <memory>

#include "distributions/cluster/persistence.h"
#include "sim/catalog.h"
#include "sim/distribution.h"

namespace gradrace {

using DistributionProduct = std::shared_ptr<const Distribution>;
using DistributionEntry = Entry<DistributionProduct>;
using DistributionCatalog = Catalog<DistributionProduct>;

const DistributionCatalog& distribution_catalog();
const PersistenceCatalog& persistence_catalog();

/// The entry of a distribution class with `struct Config`, `static void visit(Fields&, Config&)`
/// and a constructor from it.
template <class D>
DistributionProduct read_distribution(Fields& fields) {
  typename D::Config config;
  D::visit(fields, config);
  if (!fields.good()) return nullptr;
  return std::make_shared<D>(config);
}

}  // namespace gradrace
