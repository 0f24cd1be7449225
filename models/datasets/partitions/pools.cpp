#include "models/datasets/partitions/pools.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "models/datasets/permutation.h"
#include "sim/check.h"

namespace gradrace {

static Pools pools_of(const Dataset& data) {
  Pools pools(std::max<std::size_t>(1, data.classes));
  for (std::uint32_t row = 0; row < data.train.count; ++row)
    pools[data.classes > 0 ? data.train.classes[row] : 0].push_back(row);
  return pools;
}

static std::vector<std::uint32_t> shuffled(const std::vector<std::uint32_t>& rows,
                                           const StreamName& name) {
  if (rows.empty()) return {};
  const auto count = static_cast<std::uint32_t>(rows.size());
  const Permutation order(name, count);
  std::vector<std::uint32_t> result(count);
  for (std::uint32_t i = 0; i < count; ++i) result[i] = rows[order(i)];
  return result;
}

Pools trimmed_pools(const Dataset& data, std::uint64_t blocks, std::uint64_t seed) {
  Pools pools = pools_of(data);
  const auto left_out = static_cast<std::uint32_t>(data.train.count % blocks);
  std::vector<double> quotas;
  for (const auto& pool : pools)
    quotas.push_back(static_cast<double>(left_out * std::uint64_t{pool.size()}) /
                     static_cast<double>(data.train.count));
  const auto fewer = largest_remainder(quotas, left_out);
  for (std::uint32_t c = 0; c < pools.size(); ++c) {
    pools[c] = shuffled(pools[c], partition_stream(seed, PartitionPart::of_class, c));
    pools[c].resize(pools[c].size() - fewer[c]);
  }
  return pools;
}

std::vector<std::uint32_t> joined(const Pools& pools) {
  std::vector<std::uint32_t> rows;
  for (const auto& pool : pools) rows.insert(rows.end(), pool.begin(), pool.end());
  return rows;
}

std::vector<std::uint32_t> largest_remainder(std::span<const double> quotas, std::uint32_t total) {
  std::vector<std::uint32_t> counts;
  for (const double quota : quotas) counts.push_back(static_cast<std::uint32_t>(quota));
  std::vector<std::size_t> order(quotas.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t c) { return quotas[c] - counts[c]; });
  const std::uint32_t missing = total - std::accumulate(counts.begin(), counts.end(), 0u);
  GRADRACE_CHECK(missing <= counts.size(), "quotas add up to the total");
  for (std::size_t i = 0; i < missing; ++i) ++counts[order[i]];
  return counts;
}

Shards shards_of(std::vector<std::uint32_t> rows, std::uint32_t learners) {
  const auto size = static_cast<std::uint32_t>(rows.size() / learners);
  for (auto first = rows.begin(); first != rows.end(); first += size)
    std::sort(first, first + size);
  return {size, std::move(rows)};
}

std::optional<PartitionFault> too_few_rows(const Dataset& data, const Sharers& sharers) {
  if (sharers.learners <= data.train.count) return {};
  const std::string rows = std::to_string(data.train.count);
  return {{"a shard would be empty: " + std::to_string(sharers.learners) +
               " learners (cluster.learners) share " + rows + " training rows",
           "cluster.learners <= " + rows + ", or kind shared"}};
}

std::optional<PartitionFault> no_classes(const Dataset& data, std::string_view kind) {
  if (data.classes > 0) return {};
  return {{std::string(kind) + " needs classes, and the rows of this data set have targets",
           "kind iid, shared"}};
}

}  // namespace gradrace
