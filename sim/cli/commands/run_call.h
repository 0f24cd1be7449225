#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/run_plan.h"

namespace gradrace {

/// The scenarios of a call of run, their devices settled; ScenarioError with the problems of all
/// files, UsageError where two would have one folder.
std::vector<Scenario> read_scenarios(const RunOptions& options);

std::filesystem::path folder_of(const Scenario& scenario, const RunOptions& options);

/// Threads.
unsigned jobs_for(const Scenario& scenario, const RunOptions& options);

/// All runs, or those of the call's shard, in order.
std::vector<std::size_t> runs_of_call(const Scenario& scenario, const RunPlan& plan,
                                      const RunOptions& options);

}  // namespace gradrace
