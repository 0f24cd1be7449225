#include "models/dataset.h"

namespace gradrace {

extern const DatasetEntry idx_entry, digits_entry, synthetic_entry;

const DatasetCatalog& dataset_catalog() {
  static const DatasetEntry* const entries[] = {&idx_entry, &digits_entry, &synthetic_entry};
  static const DatasetCatalog catalog{"datasets", "kind", entries};
  return catalog;
}

}  // namespace gradrace
