#pragma once

#include <cstdint>

#include "sim/distribution.h"
#include "sim/protocol.h"

namespace gradrace {

/// E[T_sync] / E[T_async] = P E[X_{P:P}] / E[X], exact for any law of finite mean; at least P,
/// which constant runtimes reach. Source: Dutta et al., AISTATS 2018, Theorem 1.
double sync_over_async(const Distribution& runtime, std::uint32_t learners);

/// The same for exponential runtimes of any mean: P H_P, exact; P log P is smaller.
/// Source: Dutta et al., AISTATS 2018, Corollary 1.
double sync_over_async_memoryless(std::uint32_t learners);

/// What waiting for K learners costs over never being idle: P E[X_{K:P}] / (K E[X]), 1 <= K <= P.
/// Exact for any law as E[T] of k-sync over that of k-batch-async.  As k-async over k-batch-async,
/// and as k-sync over k-batch-sync: exact for memoryless runtimes, an upper bound where a new
/// minibatch takes longer than a used one, a lower one where it takes shorter.
/// Source: Dutta et al., AISTATS 2018, Theorem 2 (exponential runtimes); Lemmas 4 and 5.
double waiting_over_working(const Distribution& runtime, std::uint32_t k, std::uint32_t learners);

/// The same for exponential runtimes: P (H_P - H_{P-K}) / K, exact.
double waiting_over_working_memoryless(std::uint32_t k, std::uint32_t learners);

/// (P/K) log(P/(P-K)), K < P: what the paper says that the last one is about.  An upper bound: 7 to
/// 21 % high at P = 8.
double waiting_over_working_logarithm(std::uint32_t k, std::uint32_t learners);

/// How many times as many updates as sync a protocol makes in the same time.
Estimate speedup_over_sync(const Distribution& runtime, std::uint32_t learners,
                           const Estimate& iteration_time);

}  // namespace gradrace
