#pragma once

#include "sim/cli/commands/commands.h"

namespace gradrace {

/// Prints what run_scenarios() would make, where, in what time and memory, which it estimates by
/// runs of a fraction of a second; makes no folder.  The exit status.
int dry_run(const RunOptions& options);

}  // namespace gradrace
