#include "sim/cli/commands/trace_fit.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/cli/results/count_text.h"
#include "sim/cli/results/table.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t least_times = 10;
constexpr double shortest = 1e-30, longest = 1e30;  // times whose squares and products are numbers

/// As a scenario has it.
Json rounded(double value, int digits = 6) { return Json::parse(short_number(value, digits)); }

Json lognormal(double mean, double variation) {
  const double variance = std::log1p(variation * variation);
  return {{"distribution", "lognormal"},
          {"mu", rounded(std::log(mean) - variance / 2)},
          {"sigma", rounded(std::sqrt(variance))}};
}

Json deterministic(double mean) {
  return {{"distribution", "deterministic"}, {"value", rounded(mean)}};
}

Json rounded_law(const Fit& fit, double variation) {
  Json law = Json::parse(fit.json);
  for (auto& value : law) {
    if (value.is_number()) value = rounded(value.get<double>(), digits_for(variation, 6));
  }
  return law;
}

/// Of the times that families are fitted to.
double variation_of(const TraceFit& fit) {
  return fit.evened ? fit.structure.variation_within : fit.structure.variation;
}

std::vector<double> fitted_times(const TraceFit& fit) {
  if (fit.evened) return evened_times(fit.trace, fit.structure);
  std::vector<double> times;
  for (const auto& one : fit.trace.series) times.insert(times.end(), one.begin(), one.end());
  return times;
}

}  // namespace

TraceFit fit_trace(const Table& table, const TraceColumns& columns) {
  Trace trace = trace_of(table, columns.time, columns.learner);
  const std::string where = "fit: " + table.file.string() + ": column " + columns.time;
  if (trace.size() < least_times) {
    throw UsageError(where + " has " + count_text(trace.size(), "time") +
                     "; a fit needs at least " + std::to_string(least_times));
  }
  for (const auto& times : trace.series) {
    for (const double x : times) {
      if (x >= shortest && x <= longest) continue;
      throw UsageError(where + " has a time of " + short_number(x) + "; a fit takes " +
                       short_number(shortest) + " to " + short_number(longest) +
                       ": choose another unit");
    }
  }
  const double first = trace.series.front().front();
  const bool constant = std::all_of(trace.series.begin(), trace.series.end(), [&](const auto& one) {
    return std::all_of(one.begin(), one.end(), [&](double x) { return x == first; });
  });
  if (constant) {
    throw UsageError(where + " is always " + short_number(first, 10) + ": nothing to fit; write " +
                     R"({"distribution": "deterministic", "value": )" + short_number(first, 10) +
                     "}");
  }
  TraceFit fit{columns, std::move(trace), {}, {}, false, {}};
  fit.structure = structure_of(fit.trace);
  fit.verdict = verdict_of(fit.structure);
  fit.evened = fit.structure.uneven();
  constexpr double least_variation = 1e-9;
  if (variation_of(fit) > least_variation) fit.fits = fit_families(fitted_times(fit));
  return fit;
}

Json fitted_cluster(const TraceFit& fit) {
  Json cluster{{"learners", fit.trace.series.size()}};
  if (fit.verdict == Verdict::persistent || fit.verdict == Verdict::alternating) {
    const PersistentLaw law = persistent_law(fit.structure, fit.evened);
    cluster["runtime"] =
        law.variation > 0 ? lognormal(law.mean, law.variation) : deterministic(law.mean);
    cluster["persistence"] = {
        {"kind", "ar1"}, {"correlation", rounded(law.correlation)}, {"sd", rounded(law.sd)}};
  } else {
    cluster["runtime"] = fit.fits.fits.empty()
                             ? deterministic(fit.structure.mean)
                             : rounded_law(fit.fits.fits.front(), variation_of(fit));
  }
  if (fit.evened) {
    cluster["speeds"] = Json::array();
    for (const double speed : speeds_of(fit.structure)) cluster["speeds"].push_back(rounded(speed));
  }
  return cluster;
}

Json replaying_cluster(const TraceFit& fit) {
  Json runtime{{"distribution", "empirical"},
               {"path", std::filesystem::absolute(fit.trace.file).lexically_normal().string()},
               {"column", fit.columns.time}};
  if (!fit.columns.learner.empty()) runtime["learner_column"] = fit.columns.learner;
  runtime["mode"] = "replay";
  return {{"learners", fit.trace.series.size()}, {"runtime", runtime}};
}

}  // namespace gradrace
