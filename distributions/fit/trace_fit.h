#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distributions/fit/fit.h"
#include "distributions/fit/read_trace.h"
#include "distributions/fit/structure.h"
#include "distributions/fit/trace.h"

namespace gradrace {

/// All that is found out about a trace.
struct TraceFit {
  TraceSource source;
  Trace trace;
  std::uint32_t slowest_of;  // each time is that of the slowest of so many minibatches
  Structure structure;
  Verdict verdict;
  bool evened;  // families are fitted to times over their learner's mean, times the mean of all
  Fits fits;    // none where these do not vary
  std::vector<std::string> doubts;

  /// Whether all times are those of whole minibatches.
  bool whole() const { return trace.cancelled.empty() && slowest_of == 1; }

  /// Coefficient of variation of the times that families are fitted to.
  double variation() const { return evened ? structure.variation_within : structure.variation; }
};

/// Where times are cancelled or the slowest of several, the verdict is that they are assumed to be
/// independent and the learners alike.  Throws TraceError for a trace that nothing can be said of.
TraceFit fit_trace(ReadTrace read, std::uint32_t slowest_of = 1);

}  // namespace gradrace
