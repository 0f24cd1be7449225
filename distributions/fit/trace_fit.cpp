#include "distributions/fit/trace_fit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "distributions/fit/doubts.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::size_t least_times = 10;
constexpr double shortest = 1e-30, longest = 1e30;  // times whose squares and products are numbers

Observations observations(const TraceFit& fit) {
  if (fit.evened) return {evened_times(fit.trace, fit.structure)};
  Observations observed{{}, {}, fit.slowest_of};
  for (const auto& one : fit.trace.series)
    observed.times.insert(observed.times.end(), one.begin(), one.end());
  for (const auto& one : fit.trace.cancelled)
    observed.cancelled.insert(observed.cancelled.end(), one.begin(), one.end());
  return observed;
}

std::vector<double> whole_times(const Trace& trace) {
  std::vector<double> times;
  for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
    for (std::size_t i = 0; i < trace.series[learner].size(); ++i) {
      if (trace.cancelled.empty() || !trace.cancelled[learner][i])
        times.push_back(trace.series[learner][i]);
    }
  }
  return times;
}

/// That there are enough times, in a range that can be computed with, and that they differ.
void check(const Trace& trace, const std::string& where) {
  const auto times = whole_times(trace);
  if (times.size() < least_times) {
    throw TraceError("column",
                     where + " has " + count_text(times.size(), "time") +
                         (trace.cancelled.empty() ? "" : " of minibatches not cancelled") +
                         "; a fit needs at least " + std::to_string(least_times));
  }
  for (const auto& series : trace.series) {
    for (const double x : series) {
      if (x >= shortest && x <= longest) continue;
      throw TraceError("column", where + " has a time of " + short_number(x) + "; a fit takes " +
                                     short_number(shortest) + " to " + short_number(longest) +
                                     ": choose another unit, such as by --scale 1e-3");
    }
  }
  if (std::ranges::all_of(times, [&](double x) { return x == times.front(); })) {
    throw TraceError("column", where + " is always " + short_number(times.front(), 10) +
                                   ": nothing to fit; write " +
                                   R"({"distribution": "deterministic", "value": )" +
                                   short_number(times.front(), 10) + "}");
  }
}

}  // namespace

TraceFit fit_trace(ReadTrace read, std::uint32_t slowest_of) {
  check(read.trace, read.trace.file.string() + ": " +
                        read.source.times_told.substr(0, read.source.times_told.find(' ')) + " " +
                        read.source.times);
  TraceFit fit{std::move(read.source), std::move(read.trace), slowest_of, {}, {}, false, {}, {}};
  fit.structure = structure_of(fit.trace);
  fit.verdict = fit.whole() ? verdict_of(fit.structure) : Verdict::assumed;
  fit.evened = fit.whole() && fit.structure.uneven();
  fit.doubts = doubts_about(fit.trace, fit.source, slowest_of);
  constexpr double least_variation = 1e-9;
  if (fit.variation() > least_variation) fit.fits = fit_families(observations(fit));
  return fit;
}

}  // namespace gradrace
