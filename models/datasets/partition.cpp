#include "models/datasets/partition.h"

#include <mutex>
#include <new>
#include <stdexcept>

#include "models/datasets/dataset.h"
#include "sim/check.h"

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

namespace {

/// Made at the first call.
class LazyShards {
 public:
  std::shared_ptr<const Shards> get(const Partition& partition, const LoadDataset& load,
                                    const Sharers& sharers) {
    const std::lock_guard lock(mutex_);
    if (shards_) return shards_;
    const auto data = load();
    GRADRACE_CHECK(!partition.fault(*data, sharers), "what is dealt out was looked at when read");
    return shards_ = std::make_shared<Shards>(partition.divide(*data, sharers));
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Shards> shards_;
};

/// Whether the partition can be made of the data, where these are to be had; of those that cannot
/// be read the run says what is wrong with them.
void check(Fields& fields, const Partition& partition, const DataShelf& shelf,
           const LoadDataset& load) {
  std::shared_ptr<const Dataset> data;
  try {
    data = load();
  } catch (const std::runtime_error&) {
    return;
  } catch (const std::bad_alloc&) {
    return;
  }
  if (const auto fault = partition.fault(*data, shelf.sharers()))
    fields.complain("partition", fault->what, fault->allowed);
}

}  // namespace

LoadShards read_shards(Fields& fields, const DataShelf& shelf, const LoadDataset& load) {
  PartitionProduct partition;
  read_kind(fields, "partition", partition_catalog(), partition, Need::defaulted,
            "which rows of the training set each learner draws its minibatches from");
  if (!partition) return {};
  if (load && shelf.data_used()) check(fields, *partition, shelf, load);
  return [partition, load, sharers = shelf.sharers(), lazy = std::make_shared<LazyShards>()] {
    return lazy->get(*partition, load, sharers);
  };
}

}  // namespace gradrace
