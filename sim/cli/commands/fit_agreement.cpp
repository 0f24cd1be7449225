#include "sim/cli/commands/fit_agreement.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "distributions/fit/percent.h"
#include "sim/cli/commands/fit_clusters.h"
#include "sim/cli/results/table.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;
using Named = std::vector<std::pair<std::string, double>>;

constexpr double far = 0.05;  // share by which times of iterations must differ to be told

/// Numbers of an object and of lists in it: "runtime.means 2".
void add_numbers(const Json& object, const std::string& before, Named& numbers) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_number()) numbers.emplace_back(before + key, value.get<double>());
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
      numbers.emplace_back(before + key + " " + std::to_string(i + 1), value[i].get<double>());
  }
}

Named cluster_numbers(const Json& cluster) {
  Named numbers;
  for (const char* key : {"runtime", "persistence"}) {
    if (cluster.contains(key)) add_numbers(cluster[key], std::string(key) + ".", numbers);
  }
  return numbers;
}

/// How long the iterations of sync and of k-sync take.
Named iteration_numbers(const Rounds& rounds, const char* how) {
  const auto p = rounds.front().size();
  const std::uint32_t k = half_of(p);
  return {{"iteration of sync, " + std::string(how), mean_of_slowest(rounds)},
          {"iteration of " + std::to_string(k) + "-sync, " + how, mean_of_fastest(rounds, k)}};
}

bool has_measured_rounds(const TraceFit& fit) { return fit.whole() && fit.trace.series.size() > 1; }

/// In the unit that makes a bootstrap take some seconds at most.
std::uint32_t draws_of(const TraceFit& fit) {
  const bool slow = !fit.whole() ||
                    (!fit.fits.fits.empty() && fit.fits.fits.front().family == "hyperexponential");
  const double most = (slow ? 2e4 : 5e5) / static_cast<double>(fit.trace.size());
  constexpr double enough = 200, fewest = 20;
  return most < fewest ? 0 : static_cast<std::uint32_t>(std::min(most, enough));
}

/// Of N rounds (2 r / (1 - r^2))^(2/3) N^(1/3), at most a quarter, which is best for the mean of an
/// AR(1) of correlation r (Carlstein 1986); 1 where rounds do not depend on those before.
std::uint32_t block_of(const TraceFit& fit) {
  if (!fit.structure.persistent() && !fit.structure.alternating()) return 1;
  const auto rounds = static_cast<double>(
      std::ranges::max(fit.trace.series, {}, &std::vector<double>::size).size());
  const double r = std::min(std::abs(fit.structure.autocorrelations()[1]), 0.99);
  const double best = std::cbrt(std::pow(2 * r / (1 - r * r), 2) * rounds);
  return static_cast<std::uint32_t>(1 + std::min(best, rounds / 4));
}

Named numbers_of(const TraceFit& fit) {
  Named numbers = cluster_numbers(fitted_cluster(fit));
  if (!has_measured_rounds(fit)) return numbers;
  for (auto& one : iteration_numbers(measured_rounds(fit.trace), "as measured"))
    numbers.push_back(std::move(one));
  return numbers;
}

void add_intervals(const TraceFit& fit, FitAgreement& agreement) {
  const Named found = numbers_of(fit);
  agreement.draws = draws_of(fit);
  const auto statistics = [&](const Trace& trace) {
    std::vector<double> values(found.size(), std::nan(""));
    const Named again = numbers_of(fit_again(fit, trace));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto same = std::ranges::find(again, found[i].first, &Named::value_type::first);
      if (same != again.end()) values[i] = same->second;
    }
    return values;
  };
  const auto intervals = bootstrap_intervals(fit.trace, agreement.draws, block_of(fit), statistics);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Interval interval = i < intervals.size() ? intervals[i] : Interval{std::nan(""), std::nan("")};
    if (found[i].first.ends_with("correlation"))
      interval = {std::max(interval.low, -1.0), std::min(interval.high, 1.0)};
    agreement.numbers.push_back({found[i].first, found[i].second, interval});
  }
}

std::string number_with_interval(const FoundNumber& number) {
  const std::string value = short_number(number.value, 3);
  if (std::isnan(number.interval.low)) return value;
  return value + " (95 %: " + short_number(number.interval.low, 3) + " to " +
         short_number(number.interval.high, 3) + ")";
}

/// Simulates the cluster as fitted, and says where it disagrees with the one as measured.
void compare_clusters(const TraceFit& fit, FitAgreement& agreement) {
  constexpr double most_draws = 400'000;
  constexpr std::uint32_t enough = 20'000;
  const auto learners = static_cast<std::uint32_t>(learners_of(fit));
  if (learners < 2) return;
  Json cluster = fitted_cluster(fit);
  cluster.erase("learners");
  const auto rounds = std::min(enough, static_cast<std::uint32_t>(most_draws / learners) + 1);
  const Rounds simulated = simulated_rounds(cluster.dump(), learners, rounds);
  for (auto& [name, value] : iteration_numbers(simulated, "as fitted")) {
    const std::string what = name.substr(0, name.find(','));
    const auto measured =
        std::ranges::find(agreement.numbers, what + ", as measured", &FoundNumber::name);
    if (measured != agreement.numbers.end()) {
      const Interval& interval = measured->interval;
      const bool inside = value >= interval.low && value <= interval.high;
      if (!inside && std::abs(value / measured->value - 1) > far) {
        agreement.doubts.push_back(
            "the clusters disagree: an " + what + " takes " + short_number(value, 3) +
            " as fitted and " + number_with_interval(*measured) + " as measured; trust the latter");
      }
    }
    agreement.numbers.push_back({name, value, {std::nan(""), std::nan("")}});
  }
}

/// Says where laws that are as likely differ in what protocols wait for.
void compare_laws(const TraceFit& fit, FitAgreement& agreement) {
  constexpr double alike = 4;  // of AIC
  if (fit.fits.fits.empty() || fit.structure.persistent() || fit.structure.alternating()) return;
  const auto p = static_cast<std::uint32_t>(learners_of(fit) > 1 ? learners_of(fit) : 8);
  const std::uint32_t k = half_of(p);
  const Fit& best = fit.fits.fits.front();
  const auto ratio_of = [&](const Fit& law, double& sync) {
    sync = mean_of_fastest(*law.law, p, p);
    return sync / mean_of_fastest(*law.law, k, p);
  };
  double sync = 0, other_sync = 0;
  const double ratio = ratio_of(best, sync);
  for (const Fit& other : fit.fits.fits) {
    if (&other == &best || !(other.aic <= best.aic + alike)) continue;
    const double other_ratio = ratio_of(other, other_sync);
    if (!(std::abs(other_ratio / ratio - 1) > far || std::abs(other_sync / sync - 1) > far))
      continue;
    agreement.doubts.push_back(
        "these times do not tell " + best.family + " and " + other.family +
        " apart (AIC differs by " + short_number(other.aic - best.aic, 2) +
        "), but what matters differs: an iteration of sync of " + std::to_string(p) + " takes " +
        short_number(sync, 3) + " and " + short_number(other_sync, 3) + ", which is " +
        short_number(ratio, 3) + " and " + short_number(other_ratio, 3) + " times that of " +
        std::to_string(k) + "-sync: compare protocols by both, or by the cluster as measured");
  }
}

void judge_distance(const TraceFit& fit, FitAgreement& agreement) {
  if (fit.fits.fits.empty() || fit.structure.persistent() || fit.structure.alternating()) return;
  const Observations observed = fit.observed();
  const auto cancelled = std::ranges::count(observed.cancelled, true);
  const double chance = distance_by_chance(static_cast<double>(observed.times.size()) -
                                           static_cast<double>(cancelled));
  const auto distance = [&](const Fit& law) { return distance_of_rounded(observed, *law.law); };
  const Fit& best = fit.fits.fits.front();
  if (!(distance(best) > chance)) return;
  const auto nearest = std::ranges::min_element(fit.fits.fits, {}, distance);
  const bool none = distance(*nearest) > chance;
  agreement.doubts.push_back(
      (none ? "no law fits: the nearest, " + nearest->family + ", is "
            : best.family + " does not fit, although AIC prefers it: it is ") +
      short_number(distance(none ? *nearest : best), 2) +
      " off in the distribution function, and chance leaves at most " + short_number(chance, 2) +
      " in 95 % of samples" +
      (none ? ""
            : "; nearest is " + nearest->family + " with " + short_number(distance(*nearest), 2)) +
      (fit.whole() ? "; the cluster as measured needs no law" : ""));
}

}  // namespace

FitAgreement agreement_of(const TraceFit& fit) {
  FitAgreement agreement;
  judge_distance(fit, agreement);
  compare_laws(fit, agreement);
  add_intervals(fit, agreement);
  compare_clusters(fit, agreement);
  return agreement;
}

std::string agreement_text(const FitAgreement& agreement) {
  std::vector<std::vector<std::string>> rows{{"number", "value", "95 % from", "to"}};
  const auto told = [](double value) { return std::isnan(value) ? "" : short_number(value); };
  for (const auto& number : agreement.numbers)
    rows.push_back(
        {number.name, told(number.value), told(number.interval.low), told(number.interval.high)});
  std::string text = rows.size() > 1 ? aligned(rows) : "";
  text += agreement.draws > 0
              ? "  intervals: " + std::to_string(agreement.draws) + " bootstraps over rounds\n"
              : "  no intervals: so many times would take too long to draw again\n";
  for (const auto& doubt : agreement.doubts) text += "  warning: " + doubt + "\n";
  return text;
}

}  // namespace gradrace
