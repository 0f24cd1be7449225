#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/datasets/partition.h"
#include "sim/random.h"

namespace gradrace {

/// What the draw of a stream of Purpose::partition stands for; its learner is a class or a learner.
enum class PartitionPart : std::uint32_t {
  of_class,   // order of a class's rows
  all,        // order of all rows
  blocks,     // order of blocks
  of_learner  // shares of the classes in a learner's shard
};

inline StreamName partition_stream(std::uint64_t seed, PartitionPart part,
                                   std::uint32_t index = 0) {
  return {seed, 0, Purpose::partition, index, static_cast<std::uint32_t>(part)};
}

/// Row numbers, class by class.
using Pools = std::vector<std::vector<std::uint32_t>>;

/// The rows of each class in a random order (one pool of all where rows have targets), without the
/// last ones: so many are left out, in proportion to the classes and rounded by largest remainder,
/// that a multiple of `blocks` remains.  1 <= blocks <= rows.
Pools trimmed_pools(const Dataset& data, std::uint64_t blocks, std::uint64_t seed);

/// One pool after the other.
std::vector<std::uint32_t> joined(const Pools& pools);

/// The quotas, whose sum is `total` but for rounding, as whole numbers whose sum is `total`:
/// rounded down, and 1 more for the largest remainders, the first of equal ones.
std::vector<std::uint32_t> largest_remainder(std::span<const double> quotas, std::uint32_t total);

/// Shards of those rows [learners, n], as they stand.
Shards shards_of(std::vector<std::uint32_t> rows, std::uint32_t learners);

/// There are fewer rows than learners, so that a shard would be empty.
std::optional<PartitionFault> too_few_rows(const Dataset& data, const Sharers& sharers);

/// The rows have no classes, which that kind needs.
std::optional<PartitionFault> no_classes(const Dataset& data, std::string_view kind);

}  // namespace gradrace
