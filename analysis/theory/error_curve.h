#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/theory/quadratic_theory.h"
#include "sim/distribution.h"
#include "sim/engine/race.h"
#include "sim/learning_rate.h"
#include "sim/theory.h"

namespace gradrace {

/// SGD on a quadratic.
struct Descent {
  NoisyQuadratic quadratic;        // its variance that of a minibatch's gradient
  std::optional<double> momentum;  // w' = w - v', v' = momentum v + eta g; none: otherwise
  double clip = 0;                 // 0: never
  double ema = 0;                  // of what is evaluated; 0: w' itself
  std::uint32_t minibatch = 1, learners = 1;
  std::uint32_t k = 1;       // gradients of an update
  std::uint32_t rate_k = 1;  // and as the learning rate is told
  bool one_value = true;     // that updates move, or the learners' mean goes as if there were
  bool k_varies = false;     // updates differ in how many gradients they average
  Theory theory;
  std::optional<Mixing> mixing;
  std::shared_ptr<const Distribution> law;  // of independent runtimes; null where it is not one
  std::optional<Ageing> ageing;             // of the law; none where it is not known
  std::shared_ptr<const LearningRate> learning_rate;
  std::optional<double> gamma;  // assumed
  Stop stop;
  std::optional<double> every_time;  // of evaluations
};

/// What theory says of the loss over simulated time: after updates[i] updates, which are made at
/// times[i] in the mean, its loss is values[i] in the mean, or that bounds it; likewise the mean of
/// |grad F|^2 over all updates so far.
///
/// The number of updates made by a given time is random, so that the mean loss at a time is a
/// little above this curve's where the curve bends.
struct ErrorCurve {
  enum class Of { loss, squared_gradient };
  Of of;
  Basis basis;
  std::string source;
  std::vector<std::uint64_t> updates;
  std::vector<double> times, values;
};

/// Those of plain SGD on a quadratic whose iteration time is known.  Of the loss: the exact one and
/// Lemma 2's bound where all gradients are fresh, the exact one of one learning rate where they are
/// stale by exponential runtimes, Theorem 3's bound where the scenario assumes a gamma, Theorem 4's
/// of async with the distance rule, with every eta_j at its ceiling.  Of |grad F|^2: Theorem 5's
/// bound, if stale with a gamma.  At the multiples of record.every_time, or else at a hundred
/// places.  None where the limits of `stop` do not say how far, or say further than 1e7 updates
/// times curvatures.
std::vector<ErrorCurve> error_curves(const Descent& descent);

/// The exact loss that a long run of plain SGD at one learning rate settles at, on a quadratic.
std::optional<double> error_floor(const Descent& descent);

/// Lemma 2's bound of it or, with a gamma, Theorem 3's.
std::optional<double> error_floor_bound(const Descent& descent);

/// The largest learning rate, one for all updates and after its scale, at which a quadratic is
/// stable.  Exact where all gradients are fresh, are stale by exponential runtimes (the second
/// moments; no momentum) or are all of one staleness; else approximate: as if all had the mean
/// staleness.  None where stale gradients have other rates than fresh ones.
std::optional<Estimate> stable_eta(const Descent& descent);

/// The largest learning rate of Lemma 2 or, with a gamma, of Theorem 3, on a quadratic.
std::optional<double> largest_bounded_eta(const Descent& descent);

/// The mean over learners of |x_i - mean|^2 in the long run of plain SGD at one learning rate on a
/// quadratic, the mean over updates, when all learners have made their step and none has averaged
/// after it.  Exact; where they do so.
std::optional<double> disagreement(const Descent& descent);

}  // namespace gradrace
