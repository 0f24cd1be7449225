#include "analysis/theory/runtime_theory.h"

namespace gradrace {

double sync_over_async(const Distribution& runtime, std::uint32_t learners) {
  return waiting_over_working(runtime, learners, learners) * learners;
}

double waiting_over_working(const Distribution& runtime, std::uint32_t k, std::uint32_t learners) {
  return learners * runtime.expected_order_statistic(k, learners) / (k * runtime.mean());
}

Estimate speedup_over_sync(const Distribution& runtime, std::uint32_t learners,
                           const Estimate& iteration_time) {
  const double of_sync = runtime.expected_order_statistic(learners, learners);
  const Basis time = iteration_time.basis;
  const Basis basis = time == Basis::upper   ? Basis::lower
                      : time == Basis::lower ? Basis::upper
                                             : time;
  return {of_sync / iteration_time.value, basis};
}

}  // namespace gradrace
