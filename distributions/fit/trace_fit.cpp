#include "distributions/fit/trace_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "distributions/fit/doubts.h"
#include "distributions/fit/readers/column_words.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::size_t least_times = 10;
constexpr double shortest = 1e-30, longest = 1e30;  // times whose squares and products are numbers

Observations observations(const TraceFit& fit, const Trace& trace) {
  if (fit.evened) return {evened_times(trace, fit.structure)};
  Observations observed{{}, {}, fit.slowest_of};
  for (const auto& one : trace.series)
    observed.times.insert(observed.times.end(), one.begin(), one.end());
  for (const auto& one : trace.cancelled)
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

constexpr double least_variation = 1e-9;

/// Whether a learner's speed is another one by a tenth or more.
bool speeds_differ(const Structure& one, const Structure& other) {
  constexpr double far = 0.1;
  const auto speeds = speeds_of(one), others = speeds_of(other);
  for (std::size_t learner = 0; learner < speeds.size(); ++learner) {
    if (std::abs(speeds[learner] / others[learner] - 1) > far) return true;
  }
  return false;
}

/// Tells few outliers that change speeds.
std::string few_text(const Trace& trace, const std::vector<std::vector<bool>>& outlying,
                     std::size_t count) {
  double greatest = 0;
  std::string whose;
  for (std::size_t learner = 0; learner < outlying.size(); ++learner) {
    for (std::size_t i = 0; i < outlying[learner].size(); ++i) {
      if (!outlying[learner][i] || trace.series[learner][i] <= greatest) continue;
      greatest = trace.series[learner][i];
      whose = "learner " + trace.learners[learner] + ", draw " + std::to_string(i);
    }
  }
  return count_text(count, "time") + " far above the others of the same learner, up to " +
         short_number(greatest, 3) + " (" + whose +
         "), would change speeds by a tenth or more: families and speeds are without";
}

/// Times of so few values that a law with a density is none of theirs.
std::string few_values_text(const Trace& trace) {
  constexpr std::size_t few = 8, repeats = 5;
  std::set<double> values;
  for (const auto& times : trace.series) {
    for (const double x : times)
      if (values.insert(x).second && values.size() > few) return {};
  }
  if (values.size() < 2 || trace.size() < repeats * values.size()) return {};
  return "the times have only " + std::to_string(values.size()) + " different values (" +
         joined(values, ", ", [](double x) { return short_number(x); }) +
         "), as times have that are rounded, or of few kinds; laws with a density, such as "
         "uniform, smooth them: " +
         (values.size() == 2 ? "two-point has these values, and the" : "the") +
         " cluster as measured draws the times themselves";
}

/// Laws of times without the outlying ones, and one of these, where both say better what is there.
void separate_outliers(TraceFit& fit) {
  const auto outlying = outlying_times(fit.trace);
  const Trace others = without(fit.trace, outlying);
  if (std::ranges::any_of(others.series, [](const auto& one) { return one.size() < 2; })) return;
  TraceFit apart = fit;
  apart.structure = structure_of(others);
  apart.evened = apart.structure.uneven();
  if (!(apart.variation() > least_variation)) return;
  const Fits fits = fit_families(observations(apart, others));
  const auto speeds = speeds_of(apart.structure);
  std::vector<std::vector<double>> evened = fit.trace.series;
  for (std::size_t learner = 0; apart.evened && learner < evened.size(); ++learner) {
    for (double& x : evened[learner]) x *= speeds[learner];
  }
  auto law = outlier_law(evened, outlying, fit.fits, fits);
  if (!law && (fit.evened || apart.evened) && speeds_differ(fit.structure, apart.structure) &&
      common_outliers(outlying).empty()) {
    law = few_outliers(evened, outlying);
    if (law) fit.doubts.push_back(few_text(fit.trace, outlying, law->count));
  }
  if (!law) return;
  fit.structure = apart.structure;
  fit.evened = apart.evened;
  fit.fits = fits;
  fit.outliers = law;
}

}  // namespace

/// Whether all are seconds since 1970, or thousandths, millionths and so on of them, of the years
/// 2015 to 2034, and lie within days.
static bool are_unix_times(const Trace& trace) {
  double least = longest, most = 0;
  for (const auto& times : trace.series) {
    for (const double x : times) least = std::min(least, x), most = std::max(most, x);
  }
  constexpr double first = 1.42e9, last = 2.05e9, alike = 2e-4;
  if (most - least > alike * least) return false;
  return std::ranges::any_of(std::array{1.0, 1e3, 1e6, 1e9}, [&](double unit) {
    return least >= first * unit && most <= last * unit;
  });
}

void refuse_totals(const Trace& trace, const TraceSource& source) {
  if (source.durations) return;
  if (!says_duration(source.times) && are_unix_times(trace) && !only_rises(trace)) {
    throw TraceError("column",
                     trace.file.string() + ": \"" + source.times +
                         "\" has times since 1970, whose rows are not in their order; a law is "
                         "fitted to durations",
                     "--differences, of a file whose rows are sorted by the column; or --durations "
                     "where they are durations all the same");
  }
  if (only_falls(trace)) {
    throw TraceError("column",
                     trace.file.string() + ": \"" + source.times +
                         "\" only falls, as the time that is left does; a law is fitted to "
                         "durations",
                     "--column NAME for a column of these; or --durations where they are "
                     "durations all the same");
  }
  const bool rises = only_rises(trace);
  if (!rises && !rises_in_pairs(trace)) return;
  throw TraceError("column",
                   trace.file.string() + ": \"" + source.times +
                       (rises ? "\" only rises, as timestamps and running totals do"
                              : "\" rises at every second time, as totals do that begin again "
                                "after two rows") +
                       "; a law is fitted to durations",
                   "--differences, for the times from one row to the next; or --durations where "
                   "they are durations all the same");
}

TraceFit fit_trace(ReadTrace read, std::uint32_t slowest_of) {
  check(read.trace, read.trace.file.string() + ": " +
                        read.source.times_told.substr(0, read.source.times_told.find(' ')) + " " +
                        read.source.times);
  refuse_totals(read.trace, read.source);
  TraceFit fit{
      std::move(read.source), std::move(read.trace), slowest_of, {}, {}, {}, false, {}, {}, {}};
  fit.all = fit.structure = structure_of(fit.trace);
  fit.evened = fit.whole() && fit.structure.uneven();
  fit.doubts = doubts_about(fit.trace, fit.source, slowest_of);
  if (fit.variation() > least_variation) {
    fit.fits = fit_families(observations(fit, fit.trace));
    if (const std::string few = few_values_text(fit.trace); !few.empty()) fit.doubts.push_back(few);
    if (fit.whole() && slow_beginning(fit.trace) == 0) separate_outliers(fit);
  }
  fit.verdict = fit.whole() ? verdict_of(fit.structure) : Verdict::assumed;
  return fit;
}

Observations TraceFit::observed() const {
  return observations(*this, outliers ? without(trace, outlying_times(trace)) : trace);
}

TraceFit fit_again(const TraceFit& fit, Trace trace) {
  TraceFit again = fit;
  again.trace = std::move(trace);
  const Trace others =
      fit.outliers ? without(again.trace, outlying_times(again.trace)) : again.trace;
  again.structure = structure_of(others);
  if (fit.fits.fits.empty()) return again;
  const std::string& family = fit.fits.fits.front().family;
  again.fits = {};
  if (!(again.variation() > least_variation)) return again;
  if (auto law = fit_family(family, observations(again, others)))
    again.fits.fits = {std::move(*law)};
  return again;
}

}  // namespace gradrace
