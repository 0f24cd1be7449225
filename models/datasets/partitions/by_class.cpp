#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/datasets/partitions/pools.h"
#include "models/datasets/permutation.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "by-class",
    .definition =
        "Every learner has a shard of few classes.  N mod (P classes) rows are left out, in "
        "proportion to the classes of the data; the others, sorted by class and at random within "
        "one, are cut into P classes blocks of equal size, of which each learner gets `classes` at "
        "random.\n\n"
        "A block has rows of more than one class where a border between classes falls inside it; "
        "so a shard has at most `classes` classes and 1 more for each border inside its blocks, "
        "and exactly one a block where the size of a block divides every class.  The blocks with a "
        "border are at most the data's classes less 1.",
    .source =
        "the pathological non-IID partition of McMahan et al., AISTATS 2017, sec. 3 (classes "
        "2, P 100)",
    .example = R"({"kind": "by-class", "classes": 2})",
};

class ByClass final : public Partition {
 public:
  explicit ByClass(std::uint32_t classes) : classes_(classes) {}

  std::optional<PartitionFault> fault(const Dataset& data, const Sharers& sharers) const override {
    if (const auto none = no_classes(data, page.name)) return none;
    if (const auto few = too_few_rows(data, sharers)) return few;
    return too_many_blocks(data, sharers);
  }

  Shards divide(const Dataset& data, const Sharers& sharers) const override {
    const std::uint64_t blocks = blocks_for(sharers);
    const auto rows = joined(trimmed_pools(data, blocks, sharers.seed));
    const std::size_t size = rows.size() / blocks;
    const Permutation order(partition_stream(sharers.seed, PartitionPart::blocks),
                            static_cast<std::uint32_t>(blocks));
    std::vector<std::uint32_t> dealt;
    dealt.reserve(rows.size());
    for (std::uint32_t i = 0; i < blocks; ++i) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(order(i) * size);
      dealt.insert(dealt.end(), first, first + static_cast<std::ptrdiff_t>(size));
    }
    return shards_of(std::move(dealt), sharers.learners);
  }

 private:
  std::uint64_t blocks_for(const Sharers& sharers) const {
    return std::uint64_t{sharers.learners} * classes_;
  }

  std::optional<PartitionFault> too_many_blocks(const Dataset& data, const Sharers& sharers) const {
    if (blocks_for(sharers) <= data.train.count) return {};
    return {{"by-class deals out cluster.learners x classes = " + std::to_string(sharers.learners) +
                 " x " + std::to_string(classes_) + " blocks, and there are " +
                 std::to_string(data.train.count) + " training rows",
             "classes <= " + std::to_string(data.train.count / sharers.learners) +
                 " with so many learners"}};
  }

  std::uint32_t classes_;  // blocks of a learner
};

PartitionProduct read(Fields& fields) {
  std::uint32_t classes = 1;
  fields.integer("classes", classes, Need::required, at_least(1), "blocks of a learner's shard");
  return fields.good() ? std::make_shared<ByClass>(classes) : nullptr;
}

}  // namespace

extern const PartitionEntry by_class_partition_entry{page, read};

}  // namespace gradrace
