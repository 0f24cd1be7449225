#pragma once

#include <cstdint>

#include "sim/distribution.h"
#include "sim/theory.h"

namespace gradrace {

/// E[T_sync] / E[T_async] = P E[X_{P:P}] / E[X], exact for any law of finite mean; at least P,
/// which constant runtimes reach. Source: Dutta et al., AISTATS 2018, Theorem 1.
double sync_over_async(const Distribution& runtime, std::uint32_t learners);

/// What waiting for K learners costs over never being idle: P E[X_{K:P}] / (K E[X]), 1 <= K <= P.
/// Exact for any law as E[T] of k-sync over that of k-batch-async.  As k-async over k-batch-async,
/// and as k-sync over k-batch-sync: exact for memoryless runtimes, an upper bound where a new
/// minibatch takes longer than a used one, a lower one where it takes shorter.
/// Source: Dutta et al., AISTATS 2018, Theorem 2 (exponential runtimes); Lemmas 4 and 5.
double waiting_over_working(const Distribution& runtime, std::uint32_t k, std::uint32_t learners);

/// How many times as many updates as sync a protocol makes in the same time; time_of_sync: E[T] of
/// sync.
Estimate speedup_over_sync(double time_of_sync, const Estimate& iteration_time);
/// The same of learners of one law.
Estimate speedup_over_sync(const Distribution& runtime, std::uint32_t learners,
                           const Estimate& iteration_time);

}  // namespace gradrace
