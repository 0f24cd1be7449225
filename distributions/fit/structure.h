#pragma once

#include <span>
#include <vector>

#include "distributions/fit/trace.h"

namespace gradrace {

/// How the times of a trace depend on who took them, and on each other.  N times of L learners.
struct Structure {
  double mean;       // of all times
  double variation;  // their standard deviation over their mean
  std::vector<double> learner_means;
  /// sum n_l (mean_l - mean)^2 / sum (x - mean)^2, 0 to 1.
  double share_between;
  /// What share_between would be on average if the learners differed by chance alone:
  /// (L - 1) / (N - 1) (1 + r) / (1 - r), at most 1, with r = pooled[1] where that is positive: the
  /// mean of an AR(1) varies so much more than that of independent times.
  double share_by_chance;
  /// Lag-1 autocorrelation of each learner's times; NaN where they do not vary.
  std::vector<double> lag1;
  /// Autocorrelation [lag], 0 to 5, of all learners' times, each over its learner's mean, about 1.
  std::vector<double> pooled;
  /// Standard deviation of times, each over its learner's mean.
  double variation_within;
  double n;  // N
  /// Of ranks in place of times, which a few long times hardly change: the share between learners,
  /// among all times; and the autocorrelation [lag], among each learner's own, pooled.
  double rank_share_between;
  std::vector<double> rank_pooled;

  /// The autocorrelations by times; by ranks where those alone say that times persist or alternate.
  const std::vector<double>& autocorrelations() const;

  /// True if learners differ by more than chance: the share between them, of times or of ranks, is
  /// at least `uneven_share` and three times share_by_chance.
  bool uneven() const;
  /// True if the autocorrelation of lag 1, of times or of ranks, is at least `persistent_lag1` and
  /// 4 / sqrt(N).
  bool persistent() const;
  /// True if minus it is.
  bool alternating() const;

  static constexpr double uneven_share = 0.1, half = 0.5, persistent_lag1 = 0.2;
};

double mean_of(std::span<const double> x);

/// Of one value or more.
double median_of(std::vector<double> x);

/// Ranks over their number, about 0: -1/2 to 1/2; those of equal values are their mean.
std::vector<double> centred_ranks(std::span<const double> x);

/// The times must not all be equal.
Structure structure_of(const Trace& trace);

/// assumed: independent, where the times tell nothing of that.
enum class Verdict { independent, heterogeneous, persistent, alternating, assumed };

/// Heterogeneous where the learners are uneven and half of the variance or more lies between them,
/// or where they are uneven and nothing persists or alternates; else persistent, alternating or
/// independent.
Verdict verdict_of(const Structure& structure);

/// Speeds by learner, 1 on average over the times: a learner's mean is the mean of all over its
/// speed.
std::vector<double> speeds_of(const Structure& structure);

/// The times divided by the mean of their learner, times the mean of all.
std::vector<double> evened_times(const Trace& trace, const Structure& structure);

/// A stationary law of successive times X_n = R_n exp(a_n - sd^2 / 2), where R is drawn
/// independently, with that mean and that standard deviation over it (0: always the mean), and a_n
/// is a normal AR(1) of standard deviation sd and lag-1 correlation.  Then E[X] = E[R],
/// Var[X] / E[X]^2 = (1 + variation^2) exp(sd^2) - 1 and Cov[X_n, X_{n+k}] / E[X]^2 =
/// exp(sd^2 correlation^k) - 1.
struct PersistentLaw {
  double mean, variation;
  double correlation, sd;
};

/// The law that has the mean, variation and lag-1 autocovariance of the trace.  Where the
/// autocovariances fall slower than from lag 0 to lag 1, a part of the variance is independent: the
/// correlation is then the rate at which they fall over the lags 1 to 5.  `evened`: of times over
/// their learner's mean.  The structure must be persistent or alternating; no such law alternates
/// more than with correlation -1.
PersistentLaw persistent_law(const Structure& structure, bool evened);

}  // namespace gradrace
