#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gradrace {

/// What a search for the switch point may spend, and when it is content.
struct SearchRule {
  double beta = 0.01;            // what a setting's accuracy may lack of the target
  std::uint32_t settings = 5;    // M, tried at most
  std::uint32_t runs = 5;        // R, of each setting
  std::uint32_t first_runs = 5;  // N, of the first protocol alone; 0: the target is known
};

/// A setting: the share of the work that is done under the first protocol.
struct Trial {
  double share, accuracy;
  bool passed;
};

struct SwitchPoint {
  std::vector<Trial> path;
  double share = 1;  // the least that passed; 1: none did
};

/// The timing policy of Sync-Switch: the least share of the work under the first of two protocols
/// whose accuracy is within beta of the target A, by halving.  From upper = 1, lower = 0, M times:
///
///     p = (upper + lower) / 2;   upper' = p if a(p) >= A - beta, else lower' = p.
///
/// a(p): mean accuracy over the runs of a setting, NaN where one of them diverged, which fails;
/// none where no such runs can be had, which ends the search.
/// What is found is the least share only where accuracy does not fall as the share grows.
/// Source: Li, Mangoubi, Xu, Guo, ICDCS 2021 (Sync-Switch), timing policy.
SwitchPoint find_switch_point(const SearchRule& rule, double target,
                              const std::function<std::optional<double>(double)>& accuracy);

/// In trainings with the first protocol alone, of time 1.
struct SearchCost {
  double trainings;
  double recurrences;  // of the job, after which it has paid; infinite where nothing is saved
};

///     C = N + R (T(p_1) + T(p_2) + ...),   recurrences C / (1 - T(p*)).
///
/// times: T(p_i), a run's time over that of the first protocol alone; chosen: T(p*).
/// Source: as above.
SearchCost search_cost(const SearchRule& rule, std::span<const double> times, double chosen);

/// Accuracies of runs, NaN for one that diverged.
struct SearchedRuns {
  std::vector<double> first;  // of the first protocol alone; empty where the target is known
  std::vector<std::vector<double>> settings;  // in the order of the path
};

/// How many of `searches` searches with runs drawn anew, with replacement, from those of the
/// setting (bootstrap) end at the switch point found.  Each decision otherwise leads to another
/// one, so a search is followed along the path until it leaves it, and settings off the path are
/// not needed.  `target` counts where first_runs is 0.
/// Source: the bootstrap is Efron, Annals of Statistics 7(1), 1979.
std::uint32_t count_successes(const SearchRule& rule, double target, const SwitchPoint& found,
                              const SearchedRuns& runs, std::uint32_t searches, std::uint64_t seed);

}  // namespace gradrace
