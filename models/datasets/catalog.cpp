#include "models/datasets/shelf.h"

namespace gradrace {

extern const DatasetEntry idx_entry, mnist_entry, npz_entry, cifar10_entry, cifar100_entry,
    digits_entry, libsvm_entry, csv_entry, synthetic_entry, synthetic_regression_entry;

const DatasetCatalog& dataset_catalog() {
  static constexpr const DatasetEntry* entries[] = {
      &idx_entry,    &mnist_entry,  &cifar10_entry, &cifar100_entry,  &npz_entry,
      &digits_entry, &libsvm_entry, &csv_entry,     &synthetic_entry, &synthetic_regression_entry};
  static constexpr DatasetCatalog catalog{"datasets", "kind", entries};
  return catalog;
}

}  // namespace gradrace
