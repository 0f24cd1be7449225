#include "models/datasets/partition.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "shared",
    .definition = "No shards: every learner draws from all rows of the training set.",
    .source = "common data; Dutta et al., AISTATS 2018, sec. 2",
    .example = R"({"kind": "shared"})",
};

PartitionProduct read(Fields&) { return nullptr; }

}  // namespace

extern const PartitionEntry shared_partition_entry{page, read};

}  // namespace gradrace
