#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "distributions/fit/iteration_times.h"
#include "distributions/fit/trace_fit.h"

namespace gradrace {

/// How many fits of a family to such a trace take some seconds at most: 200, or 0 where it were
/// less than 20.
std::uint32_t draws_of(const TraceFit& fit, const std::string& family);

/// As many times of each learner as the trace has, drawn from the cluster as fitted.  Those that
/// were cancelled are so again where the minibatch takes longer.
Trace simulated_trace(const TraceFit& fit, std::uint32_t draw);

/// Whether a number of the cluster as fitted is an end of its law, beyond which no time lies: times
/// drawn again from measured ones never pass it, so that their bootstrap never holds the right one.
bool is_end(const TraceFit& fit, const std::string& number);

/// The middle 95 % of where an end may lie, by how far the ends that are found in simulated traces
/// lie from the one they were simulated with.  value_in: the end that a fit has found.
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, sections 6.5 and 7.4.
using FoundEnd = std::function<double(const TraceFit&)>;
Interval interval_of_end(const TraceFit& fit, const FoundEnd& value_in);

/// The distance (fit.h's distance_of_rounded) that 95 % of traces stay below which are simulated
/// with a law in the best one's place and fitted again, where the trace lies beyond; else nothing.
/// Times that depend on each other tell as much as fewer: distances by chance are greater by
/// sqrt(1 + 2 sum of the autocorrelations of ranks).  Traces of more than 5000 times are simulated
/// shorter, as distances fall with the square root of their number.  Where times are cancelled, or
/// a simulation would take long, by fit.h's distance_by_chance. Source: Lilliefors, Journal of the
/// American Statistical Association 62, 1967, whose tables the simulation replaces.
std::optional<double> exceeded_distance(const TraceFit& fit, const Fit& law);

}  // namespace gradrace
