#pragma once

#include <cstdint>
#include <optional>

#include "sim/distribution.h"
#include "sim/theory.h"

namespace gradrace {

/// The staleness of an applied gradient in the long run: 0 with probability fresh, s = 1, 2, ...
/// with probability (1 - fresh) (1 - ratio) ratio^(s-1).
struct StalenessLaw {
  double fresh = 1;
  double ratio = 0;

  double mean() const { return (1 - fresh) / (1 - ratio); }
};

/// The law for exponential runtimes of one mean, 1 <= K <= P where learners read together; exact.
/// With q = 1 - 1/P:
///
///     together:       fresh = K/P,                     ratio = 1 - K/P
///     after_arrival:  fresh = 1 - (P/K) q (1 - q^K),   ratio = q^K
///     before_update:  fresh = 1 - (P/K) (1 - q^K),     ratio = q^K
///
/// For a learner that reads together with others is among the K of the next update with probability
/// K/P, whatever was before; and the next gradient to arrive is any learner's with probability 1/P,
/// so that G gradients arrive from one of a learner's to its next with probability (1/P) q^(G-1),
/// of which the l-th of its update (l = 1..K, equally likely) sees ceil((G - l)/K) updates, or
/// ceil((G + 1 - l)/K) if it read before its own.  None for ReadOrder::other.
/// Source: derived.
std::optional<StalenessLaw> memoryless_staleness(ReadOrder reading, std::uint32_t k,
                                                 std::uint32_t learners);

/// The fraction of gradients that are fresh when each is an update and nobody waits (async):
///
///     integral of S_e(x)^(P-1) dP(X <= x),   S_e(x) = (1/E[X]) integral over y > x of S(y) dy,
///
/// because the other learners' residual times are independent draws of S_e.  Exact where X has a
/// density; none where it has not, since which of two simultaneous gradients is first is no matter
/// of chance.  By quadrature, absolute error below 1e-7.  1/P if memoryless, at most that if a new
/// minibatch takes longer than a used one, at least if shorter.
/// Source: derived; the bounds by ageing are Dutta et al., AISTATS 2018, Lemma 8.
std::optional<double> fresh_fraction_of_async(const Distribution& runtime, std::uint32_t learners);

/// p0: a lower bound on the probability that a gradient is fresh, given all that was before.  K/P
/// where memoryless learners read together, 1/P of others that are memoryless or new-shorter, else
/// 0, which always holds.
/// Source: Dutta et al., AISTATS 2018, Lemma 8; K/P derived.
double least_fresh_probability(Ageing ageing, ReadOrder reading, std::uint32_t k,
                               std::uint32_t learners);

/// The fraction of fresh gradients of a protocol that reads so, P learners of one law.  Where
/// learners read together, new-longer bounds it by K/P from above and new-shorter from below: a
/// fresh learner's residual time is then at least, or at most, any other's.
///
/// The papers' p0 is a lower bound on the probability that a gradient is fresh, given all that was
/// before: no more than this fraction, and equal to it where the runtimes are memoryless.
std::optional<Estimate> fresh_fraction(const Distribution& runtime, const Theory& theory,
                                       std::uint32_t k, std::uint32_t learners);

}  // namespace gradrace
