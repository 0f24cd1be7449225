#include "sim/cli/commands/fit_agreement.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "distributions/fit/percent.h"
#include "sim/cli/commands/fit_clusters.h"
#include "sim/cli/commands/fit_simulations.h"
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

/// Of N rounds (2 r / (1 - r^2))^(2/3) N^(1/3), at most a quarter, which is best for the mean of an
/// AR(1) of correlation r (Carlstein 1986); 1 where r is within two standard errors of 0.
std::uint32_t block_of(const TraceFit& fit) {
  if (std::abs(fit.structure.autocorrelations()[1]) < 2 / std::sqrt(fit.structure.n)) return 1;
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
  agreement.draws = draws_of(fit, fit.fits.fits.empty() ? "" : fit.fits.fits.front().family);
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
    if (agreement.draws > 0 && is_end(fit, found[i].first)) {
      interval = interval_of_end(fit, [&](const TraceFit& again) {
        const Named numbers = cluster_numbers(fitted_cluster(again));
        const auto same = std::ranges::find(numbers, found[i].first, &Named::value_type::first);
        return same == numbers.end() ? std::nan("") : same->second;
      });
    }
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

/// Says where the likeliest law is rejected, and where all are: of samples of any one of them 5 %
/// at most are told so.
void judge_distance(const TraceFit& fit, FitAgreement& agreement) {
  if (fit.fits.fits.empty() || fit.structure.persistent() || fit.structure.alternating()) return;
  const auto exceeded = [&](const Fit& law) { return exceeded_distance(fit, law); };
  const Fit& best = fit.fits.fits.front();
  const auto chance = exceeded(best);
  if (!chance) return;
  const Observations observed = fit.observed();
  const auto distance = [&](const Fit& law) { return distance_of_rounded(observed, *law.law); };
  std::vector<Fit> nearest = fit.fits.fits;
  std::ranges::stable_sort(nearest, {}, distance);
  const double farthest = distance(best);
  const auto fits = std::ranges::find_if(nearest, [&](const Fit& law) {
    return distance(law) <= farthest && !exceeded(law).has_value();
  });
  const bool none = fits == nearest.end();
  const auto has_density = [](const Fit& law) { return !std::isnan(law.aic); };
  const Fit& told = none ? *std::ranges::find_if(nearest, has_density) : best;
  agreement.doubts.push_back(
      (none ? "no law fits: the nearest, " + told.family + ", is "
            : told.family + " does not fit, although AIC prefers it: it is ") +
      short_number(distance(told), 2) +
      " off in the distribution function, and chance leaves at most " +
      short_number(none ? *exceeded(told) : *chance, 2) + " in 95 % of samples of it" +
      (none ? ""
            : "; nearest that does is " + fits->family + " with " +
                  short_number(distance(*fits), 2)) +
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
  const bool has_end = std::ranges::any_of(agreement.numbers, [](const FoundNumber& number) {
    return number.value < number.interval.low || number.value > number.interval.high;
  });
  const std::string of_ends =
      has_end ? "; those of ends of laws, which the times only come near, by simulated traces" : "";
  text += agreement.draws > 0 ? "  intervals: " + std::to_string(agreement.draws) +
                                    " bootstraps over rounds" + of_ends + "\n"
                              : "  no intervals: so many times would take too long to draw again\n";
  for (const auto& doubt : agreement.doubts) text += "  warning: " + doubt + "\n";
  return text;
}

}  // namespace gradrace
