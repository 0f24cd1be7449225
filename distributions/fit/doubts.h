#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distributions/fit/read_trace.h"
#include "distributions/fit/trace.h"

namespace gradrace {

/// Whether times mostly rise, as a running total's do, also one that begins again now and then:
/// three quarters of the steps from a learner's time to its next that are not equal rise, and four
/// standard errors more than half, as independent times have it; or three fifths, where times that
/// fall do to what the others rise by, as totals of few rows do that begin again at 0.
bool only_rises(const Trace& trace);

/// Whether every second one does, twenty or more, as totals of two rows do that begin again at 0.
bool rises_in_pairs(const Trace& trace);

/// Whether they mostly fall, as the time that is left does.
bool only_falls(const Trace& trace);

/// Sentences that say where times look as if they were not those of whole minibatches, although
/// they are taken for that, and which option is for such times.  The n-th times of all learners are
/// a round.  Cancelled: in a quarter of the rounds or more the two longest times agree within 0.1
/// %, and four times as often as among times of different rounds.  The slowest of several: in nine
/// tenths of the rounds all times agree within 1 % of their mean, and a quarter of that where they
/// are of different rounds; or a name says step or iteration and there is one series.  Outliers
/// of all learners at once: what they change, at the beginning and later.  Learners of one time or
/// two, or whose names may be one.  A name that says several steps, times that come
/// twice, times that drift, and a greatest time that comes again and again.
std::vector<std::string> doubts_about(const Trace& trace, const TraceSource& source,
                                      std::uint32_t slowest_of);

}  // namespace gradrace
