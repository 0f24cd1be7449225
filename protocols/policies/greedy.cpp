#include "protocols/policies/straggler_policy.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "greedy",
    .definition = R"(While a learner is a straggler the next phase's protocol runs, as that phase
has it; then this phase goes on, its momenta and checkpoints where they were. Those of the next
phase begin anew when its own turn comes. What is done in between counts towards neither `work` nor
`updates` of its end, so that it does all of its own work, unless the run is over first; losses are
not looked at meanwhile, and once `time` is up the next phase has begun for good. Minibatches that
are cancelled are not seen: a protocol that cancels the slowest hides its stragglers. A learner is a
straggler after `windows` windows of `window` minibatches in a row in which its throughput, by the
time that it computes, was below the mean of the learners by `deviations` standard deviations and
below `floor` times the mean, and until so many in a row are not.)",
    .source = "Li, Mangoubi, Xu, Guo, ICDCS 2021 (Sync-Switch); window, windows and floor are ours",
    .example = R"({"kind": "greedy", "window": 5, "windows": 3})"};

}  // namespace

extern const StragglerPolicyEntry greedy_policy_entry{
    page, read_straggler_policy<StragglerPolicy::Answer::flee>};

}  // namespace gradrace
