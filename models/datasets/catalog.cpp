#include "models/datasets/dataset.h"

namespace gradrace {

extern const DatasetEntry idx_entry;
extern const DatasetEntry mnist_entry;
extern const DatasetEntry npz_entry;
extern const DatasetEntry cifar10_entry;
extern const DatasetEntry cifar100_entry;
extern const DatasetEntry digits_entry;
extern const DatasetEntry libsvm_entry;
extern const DatasetEntry csv_entry;
extern const DatasetEntry synthetic_entry;
extern const DatasetEntry synthetic_regression_entry;

const DatasetCatalog& dataset_catalog() {
  // clang-format off
  static constexpr const DatasetEntry* entries[] = {
      &idx_entry,
      &mnist_entry,
      &cifar10_entry,
      &cifar100_entry,
      &npz_entry,
      &digits_entry,
      &libsvm_entry,
      &csv_entry,
      &synthetic_entry,
      &synthetic_regression_entry,
  };
  // clang-format on
  static constexpr DatasetCatalog catalog{"datasets", "kind", entries};
  return catalog;
}

}  // namespace gradrace
