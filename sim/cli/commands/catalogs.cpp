#include "sim/cli/commands/catalogs.h"

#include <limits>
#include <type_traits>

#include "compression/catalog.h"
#include "distributions/catalog.h"
#include "models/model/model.h"
#include "models/optimiser/optimiser.h"
#include "protocols/catalog.h"
#include "protocols/policies/straggler_policy.h"
#include "protocols/policies/switch_policy.h"
#include "sim/cli/scenario/network/network.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

namespace {

template <class Product, class... Args>
CatalogPages pages_of(const Catalog<Product, Args...>& catalog,
                      std::type_identity_t<Args>... args) {
  CatalogPages pages{catalog.name, catalog.discriminator, catalog.otherwise, {}};
  for (const auto* entry : catalog.entries) {
    Reference reference;
    entry->read(reference, args...);
    pages.kinds.push_back({&entry->page, reference.fields()});
  }
  return pages;
}

}  // namespace

std::vector<CatalogPages> catalog_pages() {
  DataShelf shelf({}, {});
  const WorkBudget budget{};
  const Setting setting{std::numeric_limits<std::uint32_t>::max(), nullptr, budget};
  return {pages_of(protocol_catalog(), setting), pages_of(distribution_catalog()),
          pages_of(persistence_catalog()),       pages_of(topology_catalog()),
          pages_of(model_catalog(), shelf),      pages_of(dataset_catalog(), shelf),
          pages_of(partition_catalog()),         pages_of(optimiser_catalog()),
          pages_of(compression_catalog()),       pages_of(switch_policy_catalog()),
          pages_of(straggler_policy_catalog()),  pages_of(learning_rate_catalog(), budget)};
}

std::vector<FieldPage> scenario_fields() {
  DataShelf shelf({}, {});
  Reference reference;
  Point point;
  visit_scenario(reference, point, shelf);
  return reference.fields();
}

}  // namespace gradrace
