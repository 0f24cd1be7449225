#pragma once

#include <optional>

#include "distributions/fit/trace.h"

namespace gradrace {

/// How much longer the second half of the times is than the first, of the means of times over their
/// learner's mean; where that is no chance, else nothing.
///
/// Each learner's ranks are averaged in m bins of its positions, m the shortest series, and then
/// over learners, so that noise that all have in common counts once.  The two halves differ by 5
/// standard errors, of an AR(1) with the lag-1 autocorrelation that is left within quarters, and by
/// 5 %.  Learners of fewer than 40 times do not count.
std::optional<double> drift_of(const Trace& trace);

}  // namespace gradrace
