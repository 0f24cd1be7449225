#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/catalog.h"

namespace gradrace {

struct Dataset;

/// Rows of a training set, dealt out: each learner draws its minibatches from its own.  Disjoint
/// and of equal size.
struct Shards {
  std::uint32_t size = 0;           // n: rows of each
  std::vector<std::uint32_t> rows;  // [learners, n], ascending in a shard

  std::size_t learners() const { return rows.size() / size; }
  /// [n]: its rows.
  std::span<const std::uint32_t> of(std::uint32_t learner) const {
    return {rows.data() + std::size_t{learner} * size, size};
  }
};

/// Whom a training set is dealt out to.
struct Sharers {
  std::uint32_t learners = 1;  // P
  std::uint64_t seed = 1;      // the scenario's: all replicas have the same shards
};

/// Why data cannot be dealt out, and what could be.
struct PartitionFault {
  std::string what, allowed;
};

/// How rows are dealt out.
///
/// Immutable and shared by threads.
class Partition {
 public:
  virtual ~Partition() = default;

  /// Empty where those data can be dealt out so.
  virtual std::optional<PartitionFault> fault(const Dataset& data,
                                              const Sharers& sharers) const = 0;
  /// A shard for each learner; there is no fault.
  virtual Shards divide(const Dataset& data, const Sharers& sharers) const = 0;
};

/// Null: there are no shards, every learner draws from all rows.
using PartitionProduct = std::shared_ptr<const Partition>;
using PartitionEntry = Entry<PartitionProduct>;
using PartitionCatalog = Catalog<PartitionProduct>;

const PartitionCatalog& partition_catalog();

/// Makes the shards when they are first needed, of data that it reads then.  Empty: there are none.
/// Safe from several threads.
using LoadShards = std::function<std::shared_ptr<const Shards>()>;

}  // namespace gradrace
