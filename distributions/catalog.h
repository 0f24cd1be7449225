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

/// The entry of a distribution class whose `void visit(Fields&)` reads its parameters.
template <class D>
DistributionProduct read_distribution(Fields& fields) {
  const auto law = std::make_shared<D>();
  law->visit(fields);
  return fields.good() ? law : nullptr;
}

}  // namespace gradrace
