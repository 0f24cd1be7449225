#pragma once

#include <cstddef>
#include <optional>

#include "distributions/fit/trace.h"

namespace gradrace {

/// A part of the times at the end that is longer than what comes before it, or shorter.
struct Drift {
  double share;  // of the times, that part
  double ratio;  // mean of it over that of the rest, of times over their learner's mean
  std::optional<std::size_t> learner = {};  // whose times do that; nothing: all together
};

/// Where times drift, or change for good or for a while, by more than chance; else nothing.
///
/// Ranks of a learner's own times are averaged in m bins of positions, m the shortest series, and
/// then over learners, so that noise that all have in common counts once; of the parts of 80, 70,
/// ..., 20 % the one that differs by most standard errors from the rest, by 6 or more, of an AR(1)
/// with the second least variance and lag-1 autocorrelation of four quarters; and by 5 %.  Where
/// all together do not, each learner alone is asked.  Learners of fewer than 40 times do not count.
std::optional<Drift> drift_of(const Trace& trace);

}  // namespace gradrace
