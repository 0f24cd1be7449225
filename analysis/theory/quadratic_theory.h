#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/theory/error_theory.h"
#include "sim/theory.h"

namespace gradrace {

/// F(w) = 1/2 sum_i h_i w_i^2; the gradient of a minibatch is h_i w_i + z_i, z_i independent of
/// mean 0 and of one variance.  F* = 0.
struct NoisyQuadratic {
  struct Direction {
    double curvature;  // h_i > 0
    double count;      // components that have it
  };
  std::vector<Direction> directions;
  double start = 1;     // every component of w_0
  double variance = 0;  // of a z_i

  /// c = min h_i, L = max h_i, F(w_0), and m = 1: sigma^2 is that of a minibatch.
  ProblemConstants constants() const;
};

/// The learning rate of the update made after so many.
using Rates = std::function<double(std::uint64_t update)>;

/// E[F(w_j)] at each j of updates (ascending), where every update averages K fresh gradients at
/// learning rate eta(j) without momentum: E[w_i^2] becomes (1 - eta h_i)^2 E[w_i^2] + eta^2
/// variance / K.  Exact.  The time it takes grows with the last j times the directions.
std::vector<double> fresh_losses(const NoisyQuadratic& quadratic, std::uint32_t k, const Rates& eta,
                                 std::span<const std::uint64_t> updates);

/// Lemma 2 for the same, a step of fresh_step() for each update: an upper bound.  Empty where an
/// eta(j) is too large for it.
std::vector<double> fresh_bounds(const ProblemConstants& problem, std::uint32_t k, const Rates& eta,
                                 std::span<const std::uint64_t> updates);

/// Where they settle at one eta: sum_i eta variance / (2 K (2 - eta h_i)), about half of the floor
/// of Lemma 2 where eta h_i is small.  Exact; none where an eta h_i is 2 or more. Source: derived;
/// the fixed point of the recursion.
std::optional<double> fresh_floor(const NoisyQuadratic& quadratic, std::uint32_t k, double eta);

/// The mean over P learners of |x_i - mean|^2 in the long run, where each has a value of its own
/// and an independent gradient a step: the mean over the steps s = 1 ... period between averages,
/// before the average after the last.  In direction h, with q = (1 - eta h)^2, v the variance and
/// S(s) = 1
/// + q + ... + q^(s-1), an eigenvalue lambda_k of W other than the 1 has
///
///     e_k(s) = q^s a_k + eta^2 v S(s),   a_k = |lambda_k|^2 e_k(period),
///
/// combine-first (period 1) e_k = eta^2 v / (1 - |lambda_k - eta h|^2), and the sum of e_k over k
/// and directions is P times the disagreement.  None where an e_k grows.
/// Source: derived; W is normal, so that its Fourier modes do not mix.
std::optional<double> disagreement(const NoisyQuadratic& quadratic, const Mixing& mixing,
                                   double eta);

/// Exponential runtimes of one mean, so that whose gradient comes next does not depend on what
/// anybody read: then the second moments of w, of the values that learners read last and of the
/// gradients accepted so far obey a linear recursion, from which the rest follows, exactly.
struct MemorylessRace {
  ReadOrder reading;  // not other
  std::uint32_t k;    // at most P where learners read together
  std::uint32_t learners;
};

/// E[F(w_j)] at each j of updates (ascending), one eta, no momentum, all learners at w_0 at first.
std::vector<double> memoryless_losses(const NoisyQuadratic& quadratic, const MemorylessRace& race,
                                      double eta, std::span<const std::uint64_t> updates);

/// Where they settle; none where eta is too large for it.
std::optional<double> memoryless_floor(const NoisyQuadratic& quadratic, const MemorylessRace& race,
                                       double eta);

/// The largest eta h at which the second moments stay bounded.  Async: (1 + sqrt(1 + 8 P)) / (2 P).
double memoryless_stable_step(const MemorylessRace& race);

}  // namespace gradrace
