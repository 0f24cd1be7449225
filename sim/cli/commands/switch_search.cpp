#include "sim/cli/commands/switch_search.h"

#include <boost/random/uniform_smallint.hpp>
#include <limits>
#include <numeric>

#include "sim/check.h"
#include "sim/random.h"

namespace gradrace {

namespace {

/// A diverged run's NaN fails.
bool passes(const SearchRule& rule, double target, double accuracy) {
  return accuracy >= target - rule.beta;
}

/// Mean of so many of the values, drawn with replacement.
double resampled_mean(const std::vector<double>& values, std::uint32_t count, Stream& words) {
  GRADRACE_CHECK(!values.empty(), "runs to draw from");
  boost::random::uniform_smallint<std::size_t> any(0, values.size() - 1);
  double sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += values[any(words)];
  return sum / count;
}

}  // namespace

SwitchPoint find_switch_point(const SearchRule& rule, double target,
                              const std::function<std::optional<double>(double)>& accuracy) {
  SwitchPoint found;
  double lower = 0;
  for (std::uint32_t setting = 0; setting < rule.settings; ++setting) {
    const double share = (found.share + lower) / 2;
    const auto reached = accuracy(share);
    if (!reached) break;
    const bool passed = passes(rule, target, *reached);
    found.path.push_back({share, *reached, passed});
    (passed ? found.share : lower) = share;
  }
  return found;
}

SearchCost search_cost(const SearchRule& rule, std::span<const double> times, double chosen) {
  const double trainings =
      rule.first_runs + rule.runs * std::accumulate(times.begin(), times.end(), 0.0);
  constexpr double never = std::numeric_limits<double>::infinity();
  return {trainings, chosen < 1 ? trainings / (1 - chosen) : never};
}

std::uint32_t count_successes(const SearchRule& rule, double target, const SwitchPoint& found,
                              const SearchedRuns& runs, std::uint32_t searches,
                              std::uint64_t seed) {
  GRADRACE_CHECK(runs.settings.size() == found.path.size(), "runs of each setting of the path");
  std::uint32_t successes = 0;
  for (std::uint32_t search = 0; search < searches; ++search) {
    Stream words = stream({seed, 0, Purpose::bootstrap, 0, search});
    if (rule.first_runs > 0) target = resampled_mean(runs.first, rule.first_runs, words);
    bool same = true;
    for (std::size_t i = 0; same && i < found.path.size(); ++i) {
      const double mean = resampled_mean(runs.settings[i], rule.runs, words);
      same = passes(rule, target, mean) == found.path[i].passed;
    }
    successes += same;
  }
  return successes;
}

}  // namespace gradrace
