#include "sim/cli/commands/fit_simulations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/cli/commands/fit_clusters.h"

namespace gradrace {

namespace {

/// Another one for another trace, so that luck in a simulation is not that of all traces.
std::uint32_t replica_of(const Trace& trace, std::uint32_t draw) {
  constexpr std::uint32_t most = (1U << 24) - 1;
  return static_cast<std::uint32_t>(std::strtoul(trace.hash.substr(0, 6).c_str(), nullptr, 16) +
                                    draw) &
         most;
}

/// With the first times of each learner, 5000 of all or 50 of each.
Trace beginning_of(Trace trace) {
  const std::size_t rounds = std::max<std::size_t>(50, 5000 / trace.series.size());
  for (auto& times : trace.series) times.resize(std::min(times.size(), rounds));
  for (auto& cancelled : trace.cancelled) cancelled.resize(std::min(cancelled.size(), rounds));
  return trace;
}

}  // namespace

std::uint32_t draws_of(const TraceFit& fit, const std::string& family) {
  const bool slow = !fit.whole() || family == "hyperexponential";
  const double most = (slow ? 2e4 : 5e5) / static_cast<double>(fit.trace.size());
  constexpr double enough = 200, fewest = 20;
  return most < fewest ? 0 : static_cast<std::uint32_t>(std::min(most, enough));
}

Trace simulated_trace(const TraceFit& fit, std::uint32_t draw) {
  auto cluster = fitted_cluster(fit);
  cluster.erase("learners");
  Trace trace = fit.trace;
  const auto longest = std::ranges::max(trace.series, {}, &std::vector<double>::size).size();
  const auto learners = static_cast<std::uint32_t>(trace.series.size()) * fit.slowest_of;
  const Rounds rounds = simulated_rounds(
      cluster.dump(), learners, static_cast<std::uint32_t>(longest), replica_of(trace, draw));
  for (std::size_t l = 0; l < trace.series.size(); ++l) {
    for (std::size_t n = 0; n < trace.series[l].size(); ++n) {
      const auto first = rounds[n].begin() + static_cast<std::ptrdiff_t>(l * fit.slowest_of);
      const double time = *std::max_element(first, first + fit.slowest_of);
      const bool cancelled = !trace.cancelled.empty() && trace.cancelled[l][n];
      if (cancelled && time >= trace.series[l][n]) continue;
      if (cancelled) trace.cancelled[l][n] = false;
      trace.series[l][n] = time;
    }
  }
  return trace;
}

bool is_end(const TraceFit& fit, const std::string& number) {
  using Named = std::pair<std::string, std::string>;
  const std::array<Named, 4> ends{{{"uniform", "runtime.low"},
                                   {"uniform", "runtime.high"},
                                   {"shifted-exponential", "runtime.shift"},
                                   {"pareto", "runtime.scale"}}};
  const auto family = fitted_cluster(fit)["runtime"]["distribution"].get<std::string>();
  const bool cancelled = !fit.trace.cancelled.empty() && number == "runtime.high";
  return !cancelled && std::ranges::find(ends, Named{family, number}) != ends.end();
}

Interval interval_of_end(const TraceFit& fit, const FoundEnd& value_in) {
  std::vector<double> ends;
  for (std::uint32_t draw = 0; draw < draws_of(fit, ""); ++draw) {
    const double end = value_in(fit_again(fit, simulated_trace(fit, draw)));
    if (!std::isnan(end)) ends.push_back(end);
  }
  if (ends.size() < 20) return {std::nan(""), std::nan("")};
  std::ranges::sort(ends);
  const auto beyond = static_cast<std::size_t>(0.025 * static_cast<double>(ends.size() - 1));
  const double found = value_in(fit), half = rounding_of(fit.observed().times) / 2;
  return {std::max(2 * found - ends[ends.size() - 1 - beyond] - half, 0.0),
          2 * found - ends[beyond] + half};
}

std::optional<double> exceeded_distance(const TraceFit& fit, const Fit& law) {
  const Observations observed = fit.observed();
  const auto n = static_cast<double>(observed.times.size()) -
                 static_cast<double>(std::ranges::count(observed.cancelled, true));
  double dependence = 1;
  for (std::size_t lag = 1; fit.whole() && lag < fit.structure.rank_pooled.size(); ++lag)
    dependence += 2 * fit.structure.rank_pooled[lag];
  const double greater = std::sqrt(std::max(dependence, 1.0));
  const double distance = distance_of_rounded(observed, *law.law);
  const double simple = greater * distance_by_chance(n);
  TraceFit own = fit;
  own.fits.fits = {law};
  own.trace = beginning_of(fit.trace);
  const double shorter = greater * std::sqrt(static_cast<double>(own.trace.size()) /
                                             static_cast<double>(fit.trace.size()));
  constexpr std::uint32_t share = 20, most = 100;  // of 19 draws none exceeds, of 39 one
  const std::uint32_t draws = std::min(draws_of(own, law.family), most);
  if (draws == 0 || !observed.cancelled.empty())
    return distance > simple ? std::optional(simple) : std::nullopt;
  const std::uint32_t allowed = distance > 1.5 * simple ? 0 : draws / share - 1;
  std::vector<double> by_chance;
  for (std::uint32_t draw = 0; draw + 1 < share * (allowed + 1); ++draw) {
    const TraceFit again = fit_again(own, simulated_trace(own, draw));
    by_chance.push_back(0);
    for (const Fit& its : again.fits.fits)
      by_chance.back() = shorter * distance_of_rounded(again.observed(), *its.law);
    if (std::ranges::count_if(by_chance, [&](double x) { return x >= distance; }) > allowed)
      return {};
  }
  std::ranges::nth_element(by_chance, by_chance.begin() + allowed, std::greater());
  return by_chance[allowed];
}

}  // namespace gradrace
