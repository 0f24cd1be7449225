#pragma once

#include <string>

#include "distributions/fit/trace.h"

namespace gradrace {

/// What odd values of times say of them; empty: nothing.

/// The greatest comes again, ten times as long as any other (a mark in place of a time), or is that
/// of a fiftieth of the times or more and of three times as many as the next one (a cap).
std::string greatest_text(const Trace& trace, const std::string& name);

/// The medians of two learners are a thousand, a million or a milliard times apart, within a factor
/// of three.
std::string units_text(const Trace& trace);

/// Few times are more than 30 times as long as any other, and make the mean a tenth longer or more.
std::string pauses_text(const Trace& trace);

/// A learner's time is in nineteen of twenty rounds or more the mean of the others', or, where its
/// name says that it stands for all, the greatest of theirs.
/// column: of the learners' names; empty: there is none.
std::string whole_text(const Trace& trace, const std::string& column);

/// The second half of each learner's times is the first, or each second time the one before.
std::string twice_text(const Trace& trace);

/// Whether times look like averages of those so far: each is near the one before (a rank
/// correlation of 0.7 or more), and how near goes with how many there are: their relative changes
/// become smaller, or large ones stand together, as where averages begin again.  A learner's first
/// 2,000 times count.
bool are_running_averages(const Trace& trace);

}  // namespace gradrace
