#pragma once

#include <nlohmann/json_fwd.hpp>

#include "distributions/fit/fit.h"
#include "distributions/fit/structure.h"
#include "distributions/fit/trace.h"
#include "sim/cli/commands/trace_columns.h"

namespace gradrace {

/// All that is found out about a trace.
struct TraceFit {
  TraceColumns columns;
  Trace trace;
  Structure structure;
  Verdict verdict;
  bool evened;  // families are fitted to times over their learner's mean, times the mean of all
  Fits fits;    // none where these do not vary
};

/// Throws UsageError for a trace that nothing can be said of.
TraceFit fit_trace(const Table& table, const TraceColumns& columns);

/// The object of a scenario's key `cluster` that behaves as the trace by the verdict; and the one
/// that replays it.
nlohmann::ordered_json fitted_cluster(const TraceFit& fit);
nlohmann::ordered_json replaying_cluster(const TraceFit& fit);

}  // namespace gradrace
