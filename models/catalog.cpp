#include "models/model.h"

namespace gradrace {

extern const ModelEntry quadratic_entry, softmax_entry;

const ModelCatalog& model_catalog() {
  static const ModelEntry* const entries[] = {&quadratic_entry, &softmax_entry};
  static const ModelCatalog catalog{"models", "kind", entries};
  return catalog;
}

}  // namespace gradrace
