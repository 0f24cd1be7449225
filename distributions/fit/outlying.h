#pragma once

#include <optional>
#include <vector>

#include "distributions/fit/fit.h"
#include "distributions/fit/trace.h"

namespace gradrace {

/// [learner][time] Whether a time stands far above the learner's others: by more than 5 standard
/// deviations of the logarithm, as the median distance from the median tells them, and twice the
/// median.
std::vector<std::vector<bool>> outlying_times(const Trace& trace);

/// Without those times.
Trace without(const Trace& trace, const std::vector<std::vector<bool>>& left_out);

/// How many first times of the learners stand out together (a step that compiles): in nine tenths
/// of the learners each is above half as much again as the learner's median and above 95 % of its
/// times, all of them where there is one learner.
std::size_t slow_beginning(const Trace& trace);

/// Draws in which nine tenths of the learners, two or more, have an outlying time.
std::vector<std::size_t> common_outliers(const std::vector<std::vector<bool>>& outlying);

/// Rare long times as a scenario's key `outliers` has them.
struct OutlierLaw {
  double probability;
  Fit law;
  std::size_t count;
};

/// Where a law of the others and one of the outlying times say better what was measured than the
/// best law of all, by 10 of AIC or more, and outliers come at random: five or more, no more than
/// a tenth, not in runs, not in all learners at once.  `evened`: times that laws are fitted to.
std::optional<OutlierLaw> outlier_law(const std::vector<std::vector<double>>& evened,
                                      const std::vector<std::vector<bool>>& outlying,
                                      const Fits& of_all, const Fits& of_others);

/// Of fewer than those five, which are taken for their mean; nothing where there are none, more, or
/// more than a tenth.
std::optional<OutlierLaw> few_outliers(const std::vector<std::vector<double>>& evened,
                                       const std::vector<std::vector<bool>>& outlying);

}  // namespace gradrace
