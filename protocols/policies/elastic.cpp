#include "protocols/policies/straggler_policy.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "elastic",
    .definition = R"(The phase's protocol, one that takes a gradient of every learner, goes on
without the learners that are stragglers. They compute on and are watched: their gradients are
dropped, and a learner that is no straggler any more takes part again from an update on. The next
phase has them all. A learner is a straggler after `windows` windows of `window` minibatches in a
row in which its throughput, by the time that it computes, was below the mean of the learners by
`deviations` standard deviations and below `floor` times the mean, and until so many in a row are
not. With a learning rate of `scale` linear the rate follows the number of learners.)",
    .source = "Li, Mangoubi, Xu, Guo, ICDCS 2021 (Sync-Switch); window, windows and floor are ours",
    .example = R"({"kind": "elastic", "window": 5, "windows": 3})"};

}  // namespace

extern const StragglerPolicyEntry elastic_policy_entry{
    page, read_straggler_policy<StragglerPolicy::Answer::leave_out>};

}  // namespace gradrace
