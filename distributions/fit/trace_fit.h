#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributions/fit/fit.h"
#include "distributions/fit/observations.h"
#include "distributions/fit/outlying.h"
#include "distributions/fit/read_trace.h"
#include "distributions/fit/structure.h"
#include "distributions/fit/trace.h"

namespace gradrace {

/// All that is found out about a trace.
struct TraceFit {
  TraceSource source;
  Trace trace;
  std::uint32_t slowest_of;  // each time is that of the slowest of so many minibatches
  Structure all;             // of all times
  Structure structure;       // of those that `fits` is of
  Verdict verdict;
  bool evened;  // families are fitted to times over their learner's mean, times the mean of all
  std::optional<OutlierLaw> outliers;  // rare long times, which then have a law of their own
  Fits fits;                           // of the others; none where these do not vary
  std::vector<std::string> doubts;

  /// Whether all times are those of whole minibatches.
  bool whole() const { return trace.cancelled.empty() && slowest_of == 1; }

  /// What families are fitted to.
  Observations observed() const;

  /// Coefficient of variation of the times that families are fitted to.
  double variation() const { return evened ? structure.variation_within : structure.variation; }
};

/// Throws TraceError for times that only rise or fall, unless it is said that they are durations.
void refuse_totals(const Trace& trace, const TraceSource& source);

/// Where times are cancelled or the slowest of several, the verdict is that they are assumed to be
/// independent and the learners alike.  Throws TraceError for a trace that nothing can be said of,
/// and for one that only rises, as a running total does.
TraceFit fit_trace(ReadTrace read, std::uint32_t slowest_of = 1);

/// The same of another trace of the learners, such as one of rounds drawn again: with the family of
/// the best law alone, and what was found out kept.
TraceFit fit_again(const TraceFit& fit, Trace trace);

}  // namespace gradrace
