#include <cstdint>
#include <utility>
#include <vector>

#include "models/datasets/partitions/pools.h"
#include "models/datasets/permutation.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "iid",
    .definition =
        "Every learner has a shard, a random part of the training set: N mod P rows are left out, "
        "in proportion to the classes if there are any, the others are shuffled and cut into P "
        "shards of n = floor(N / P).\n\n"
        "Of every partition: a minibatch is drawn from its learner's shard as it would be from the "
        "training set; sampling epoch walks through a permutation of the shard.  Shards come from "
        "the seed alone, so all replicas have the same.  Losses are of the whole training set, "
        "whose size also counts epochs.",
    .source = "the IID partition of McMahan et al., AISTATS 2017, sec. 3",
    .example = R"({"kind": "iid"})",
};

class Iid final : public Partition {
 public:
  std::optional<PartitionFault> fault(const Dataset& data, const Sharers& sharers) const override {
    return too_few_rows(data, sharers);
  }

  Shards divide(const Dataset& data, const Sharers& sharers) const override {
    const auto rows = joined(trimmed_pools(data, sharers.learners, sharers.seed));
    const auto count = static_cast<std::uint32_t>(rows.size());
    const Permutation order(partition_stream(sharers.seed, PartitionPart::all), count);
    std::vector<std::uint32_t> dealt(count);
    for (std::uint32_t i = 0; i < count; ++i) dealt[i] = rows[order(i)];
    return shards_of(std::move(dealt), sharers.learners);
  }
};

PartitionProduct read(Fields& fields) { return fields.good() ? std::make_shared<Iid>() : nullptr; }

}  // namespace

extern const PartitionEntry iid_partition_entry{page, read};

}  // namespace gradrace
