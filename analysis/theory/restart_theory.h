#pragma once

#include <cstdint>

namespace gradrace {

/// Learners without a server who all go back to the last checkpoint when one of them fails.
struct RestartingLearners {
  double count = 1;            // n of them fail,
  double up = 0;               // are up for exponential times of this mean M,
  double down = 0;             // and down for times of this mean R, of any law
  double reform = 0;           // F: before they go on, once all are up
  double every = 0, cost = 0;  // of checkpoints; cost: C
};

/// Mean time of a round, which takes `round` alone, after which a checkpoint may be written.
///
/// All are up for M' = M / n at a time, and S = M' ((1 + R / M)^n - 1) passes until they are so
/// again.  A checkpoint is written after w rounds, the first that are no shorter than `every`, so
/// that with tau = w round a round takes
///
///     (M' + S) exp(F / M') (exp((tau + C) / M') - 1) / w.
///
/// Exact where all rounds take the same time.
/// Source: derived by renewal; a failure while they are down or reform only delays them.
double round_with_restarts(double round, const RestartingLearners& learners);

}  // namespace gradrace
