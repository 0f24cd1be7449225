#pragma once

#include <string_view>
#include <vector>

#include "sim/catalog.h"
#include "sim/reading/reference.h"

namespace gradrace {

/// A kind of a catalog and the keys that it has.
struct KindPage {
  const Page* page;
  std::vector<FieldPage> fields;
};

struct CatalogPages {
  std::string_view name, discriminator, otherwise;  // as of a Catalog
  std::vector<KindPage> kinds;
};

/// Every catalog, in the order in which they are listed.
std::vector<CatalogPages> catalog_pages();

/// The keys of a scenario.
std::vector<FieldPage> scenario_fields();

}  // namespace gradrace
