#include "models/model/model.h"

namespace gradrace {

extern const ModelEntry quadratic_entry, least_squares_entry, logistic_entry, softmax_entry,
    svm_entry, mlp_entry, cnn_entry, resnet_entry, table_entry, python_entry;

const ModelCatalog& model_catalog() {
  static constexpr const ModelEntry* entries[] = {
      &quadratic_entry, &least_squares_entry, &logistic_entry, &softmax_entry, &svm_entry,
      &mlp_entry,       &cnn_entry,           &resnet_entry,   &table_entry,   &python_entry};
  static constexpr ModelCatalog catalog{"models", "kind", entries};
  return catalog;
}

}  // namespace gradrace
