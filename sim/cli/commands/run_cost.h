#pragma once

#include <cstddef>
#include <vector>

#include "sim/cli/commands/run_plan.h"
#include "sim/cli/commands/run_sizes.h"

namespace gradrace {

/// What runs of a scenario take on this machine.
struct RunsCost {
  double seconds = 0, longest = 0;  // of so many threads, and of the longest run; NaN: not known
  double publishing = 0;            // seconds
  double memory = 0;                // bytes of the call, at most
  double store = 0, files = 0;      // bytes on the disk
};

/// missing: [point], how many runs of it.  By the first part of runs of a few points, from the
/// least work to the most, without their numbers, which are counted, and by the time of a gradient
/// and of an evaluation, each of a part of its rows where all would take longer than about a
/// second; on a GPU by the first part of runs.  Takes at most some seconds.
RunsCost cost_of_runs(const Scenario& scenario, const RunPlan& plan,
                      const std::vector<std::size_t>& missing, unsigned jobs,
                      const TellStep& tell = {}, Compression compression = Compression::none);

}  // namespace gradrace
