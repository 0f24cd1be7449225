#pragma once

#include "distributions/fit/fit.h"
#include "distributions/fit/structure.h"
#include "distributions/fit/trace.h"
#include "distributions/fit/trace_columns.h"

namespace gradrace {

/// All that is found out about a trace.
struct TraceFit {
  TraceColumns columns;
  Trace trace;
  Structure structure;
  Verdict verdict;
  bool evened;  // families are fitted to times over their learner's mean, times the mean of all
  Fits fits;    // none where these do not vary

  /// Coefficient of variation of the times that families are fitted to.
  double variation() const { return evened ? structure.variation_within : structure.variation; }
};

/// Throws TraceError for a trace that nothing can be said of.
TraceFit fit_trace(const Table& table, const TraceColumns& columns);

}  // namespace gradrace
