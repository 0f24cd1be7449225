#include "distributions/fit/trace_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::size_t least_times = 10;
constexpr double shortest = 1e-30, longest = 1e30;  // times whose squares and products are numbers

std::vector<double> fitted_times(const TraceFit& fit) {
  if (fit.evened) return evened_times(fit.trace, fit.structure);
  std::vector<double> times;
  for (const auto& one : fit.trace.series) times.insert(times.end(), one.begin(), one.end());
  return times;
}

}  // namespace

TraceFit fit_trace(const Table& table, const TraceColumns& columns) {
  Trace trace = trace_of(table, columns.time, columns.learner);
  const std::string where = table.file.string() + ": column " + columns.time;
  if (trace.size() < least_times) {
    throw TraceError("column", where + " has " + count_text(trace.size(), "time") +
                                   "; a fit needs at least " + std::to_string(least_times));
  }
  for (const auto& times : trace.series) {
    for (const double x : times) {
      if (x >= shortest && x <= longest) continue;
      throw TraceError("column", where + " has a time of " + short_number(x) + "; a fit takes " +
                                     short_number(shortest) + " to " + short_number(longest) +
                                     ": choose another unit");
    }
  }
  const double first = trace.series.front().front();
  const bool constant = std::all_of(trace.series.begin(), trace.series.end(), [&](const auto& one) {
    return std::all_of(one.begin(), one.end(), [&](double x) { return x == first; });
  });
  if (constant) {
    throw TraceError("column", where + " is always " + short_number(first, 10) +
                                   ": nothing to fit; write " +
                                   R"({"distribution": "deterministic", "value": )" +
                                   short_number(first, 10) + "}");
  }
  TraceFit fit{columns, std::move(trace), {}, {}, false, {}};
  fit.structure = structure_of(fit.trace);
  fit.verdict = verdict_of(fit.structure);
  fit.evened = fit.structure.uneven();
  constexpr double least_variation = 1e-9;
  if (fit.variation() > least_variation) fit.fits = fit_families(fitted_times(fit));
  return fit;
}

}  // namespace gradrace
