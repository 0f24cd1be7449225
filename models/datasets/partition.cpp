#include "models/datasets/partition.h"

namespace gradrace {

extern const PartitionEntry shared_partition_entry, iid_partition_entry, by_class_partition_entry,
    dirichlet_partition_entry;

const PartitionCatalog& partition_catalog() {
  static constexpr const PartitionEntry* entries[] = {&shared_partition_entry, &iid_partition_entry,
                                                      &by_class_partition_entry,
                                                      &dirichlet_partition_entry};
  static constexpr PartitionCatalog catalog{"partitions", "kind", entries, "shared"};
  return catalog;
}

}  // namespace gradrace
