#pragma once

#include "sim/cli/commands/commands.h"

namespace gradrace {

/// Prints what run_scenarios() would make, where, in what time and memory, which it estimates by
/// parts of them (run_cost.h); makes no folder.  The exit status.
int dry_run(const RunOptions& options);

}  // namespace gradrace
