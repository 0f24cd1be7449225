#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/distribution.h"

namespace gradrace {

struct PeerNetwork;

/// How a theoretical value relates to the long-run truth.
enum class Basis { exact, upper, lower, approximate };

struct Estimate {
  double value;
  Basis basis;
};

/// Which of three schedules that theory can analyse a protocol has: in all of them a learner
/// computes from the moment it has read, no gradient is lost, and each update averages K of them.
/// Examples: k-async, k-batch-async, softsync with `pull` before.
enum class ReadOrder {
  other,
  together,       // K learners wait for the update that they make, and read what it made
  after_arrival,  // any learners; each reads when its gradient is in, after the update it completes
  before_update   // the same, before the update that it completes
};

/// What a gradient takes besides computing, between its learner and a server, where nothing else
/// does.
struct Road {
  double alone = 0;  // from the update before it to its own, if nobody else is on the road
  double outgoing = 0, incoming = 0;        // on the server's links, which are shared equally
  double per_gradient = 0, per_update = 0;  // of the server, one thing at a time
  bool only_links = false;                  // the rest of `alone` is nobody else's business
};

/// What theory may know of a race, besides its protocol.
struct Conditions {
  std::uint32_t learners = 1;            // P
  const Distribution* law = nullptr;     // of independent runtimes of all minibatches; null: none
  const PeerNetwork* network = nullptr;  // among learners; null: exchanges take no time
  bool delayed = false;                  // messages or the server take time, or learners fail
  bool ties = false;                     // two minibatches may take the same time
  std::optional<Road> road = {};         // where that is all that delays

  // Where learners have laws of their own, of independent runtimes.
  std::vector<double> means = {};  // [learner]; empty: not so
  bool memoryless = false;         // all of these laws are exponential
  /// E[min(M, cap)] of the time M of the slowest learner for so many minibatches, where known.
  std::function<std::optional<double>(std::uint32_t minibatches, double cap)> slowest = {};
  /// E[X_{K:P}] of a minibatch of each, K < P, where known.
  std::function<std::optional<double>(std::uint32_t k)> kth_smallest = {};
};

/// What theory says of a protocol in the long run.
struct Theory {
  std::optional<Estimate> iteration_time;  // time between updates
  std::optional<double> staleness;         // mean over applied gradients
  ReadOrder reading = ReadOrder::other;
  bool fewer_than_k = false;  // an update may have fewer gradients
  bool over_budget = false;   // integrals that it lacks take too many evaluations

  // Of learners without a server.
  std::optional<double> exchange_time;  // of the one exchange of a step or round, undisturbed
  bool may_come_late = false;           // what it brings, steps later, as with dasgd
  // Update n finds every learner at its step n, and before the average after it.
  bool in_step = false;
  // The mean of the learners' values goes, on a quadratic, as the model of sync does.
  bool mean_follows_sync = false;
};

/// What averages do to the values of P learners, x_i <- sum_j W_ij x_j, after every `period` steps
/// of all; where the averages of so many steps differ, W is all of them, one after the other.
struct Mixing {
  /// The largest part of the squared disagreement, mean over i of |x_i - mean|^2, that W leaves, in
  /// the mean if it is random: an eigenvalue of E[W^T W].
  double rho = 0;
  /// The second largest |eigenvalue| of E[W], where it is neither rho nor among the next.
  std::optional<double> second = {};
  /// Of W, P of them with the 1 first, where W is normal and always the same.
  std::vector<std::complex<double>> eigenvalues = {};
  std::uint32_t period = 1;
  bool combine_first = false;  // x_i = sum_j W_ij x_j - eta g_i(x_i)
};

/// All of so many learners take the mean of all.
Mixing mixing_of_all(std::uint32_t learners, std::uint32_t period);

/// Learners are divided at random into so many groups, each of which takes the mean of its own: rho
/// = (groups - 1) / (P - 1), whatever their sizes.
/// Source: derived; groups of one size, or one group alone: Luo et al., arXiv 1909.08029.
Mixing mixing_of_groups(std::uint32_t learners, std::uint32_t groups);

/// 1 - the second largest |eigenvalue| of E[W].
double spectral_gap(const Mixing& mixing);

/// Bounds of E[max over P learners of the time of n minibatches]; equal where it is known.  With
/// mean m and standard deviation s of one minibatch's time X they are
///
///     E[X_{P:P}] + (n - 1) m   and
///     min(n E[X_{P:P}], n m + sqrt(n) s (P - 1) / sqrt(2 P - 1)).
///
/// Source: derived; the last: Hartley, David, Ann. Math. Stat. 25(1), 1954.
struct Bounds {
  double low, high;
};
Bounds slowest_of(std::uint32_t learners, const Distribution& law, std::uint32_t minibatches);
/// The same of learners under those conditions, where it is known.
std::optional<Bounds> slowest_of(const Conditions& conditions, std::uint32_t minibatches);

/// Time between minibatches of all learners together, where the means are known, if each takes so
/// much longer from one to the next than for a minibatch:
/// 1 / sum over learners of 1 / (E[X] + extra).
std::optional<double> time_between_minibatches(const Conditions& conditions, double extra = 0);

/// Time of so many minibatches of all learners together, none of whom is ever idle: their renewals
/// have rates that add up.  The law or the means are known.
double time_of_minibatches(const Conditions& conditions, std::uint32_t minibatches);

/// Time of so many gradients, an update, of learners that go on at once when theirs are taken up.
///
/// Where they share links alone, the links and P learners are a closed network of product form:
/// exact mean value analysis, for any law of runtimes without ties.  Else a lower bound: what is
/// used most, or P learners none of whom ever waits for another, whichever is slower.
/// Source: Reiser, Lavenberg, J. ACM 27(2), 1980; Denning, Buzen, ACM Computing Surveys 10(3),
/// 1978.
std::optional<Estimate> time_on_road(const Conditions& conditions, std::uint32_t gradients);

/// E[min(M, cap)] of the time M of the slowest learner's minibatch, where it is known.
std::optional<double> slowest_minibatch(const Conditions& conditions,
                                        double cap = std::numeric_limits<double>::infinity());

/// E[X_{K:P}] of a minibatch of each learner, where it is known.
std::optional<double> order_statistic(const Conditions& conditions, std::uint32_t k);

/// That value with its basis, if there is one.
inline std::optional<Estimate> estimate(std::optional<double> value, Basis basis) {
  return value ? std::optional(Estimate{*value, basis}) : std::nullopt;
}

}  // namespace gradrace
