#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributions/fit/trace.h"
#include "sim/distribution.h"

namespace gradrace {

/// Times of successive rounds in which every learner makes a minibatch: [round][learner].
using Rounds = std::vector<std::vector<double>>;

/// The rounds of a trace as the replaying cluster has them: a learner's times come again after the
/// last.  As many as the longest series has.
Rounds measured_rounds(const Trace& trace);

/// Of a scenario's cluster: its JSON without the key `learners`.
Rounds simulated_rounds(const std::string& cluster, std::uint32_t learners, std::uint32_t rounds,
                        std::uint32_t replica = 0);

/// What protocols wait for: the mean time of the slowest of a round (sync), and of its k-th fastest
/// (k-sync).
double mean_of_slowest(const Rounds& rounds);
double mean_of_fastest(const Rounds& rounds, std::uint32_t k);

/// The same of P independent draws of a law.
double mean_of_fastest(const Distribution& law, std::uint32_t k, std::uint32_t p);

/// Half of the learners, at least one: the k of k-sync that a fit looks at.
std::uint32_t half_of(std::size_t learners);

/// The middle 95 % of what a statistic is for traces of rounds drawn again, with replacement, in
/// blocks of so many successive ones, the same in all learners; moved so that their median is the
/// statistic of the trace, since rounds at the joints of blocks do not depend on each other, which
/// makes an autocorrelation less, and wider by Student's t of as many blocks as there are over that
/// of the normal law (Hesterberg, The American Statistician 69(4), 2015).  Of fewer draws than 100
/// their standard deviation tells how wide.  NaN of less than two rounds.
struct Interval {
  double low, high;
};
using TraceStatistics = std::function<std::vector<double>(const Trace&)>;
std::vector<Interval> bootstrap_intervals(const Trace& trace, std::uint32_t draws,
                                          std::uint32_t block, const TraceStatistics& statistics);

}  // namespace gradrace
