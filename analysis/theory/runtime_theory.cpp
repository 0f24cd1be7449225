#include "analysis/theory/runtime_theory.h"

namespace gradrace {

double sync_over_async(const Distribution& runtime, std::uint32_t learners) {
  return waiting_over_working(runtime, learners, learners) * learners;
}

double waiting_over_working(const Distribution& runtime, std::uint32_t k, std::uint32_t learners) {
  return learners * runtime.expected_order_statistic(k, learners) / (k * runtime.mean());
}

Estimate speedup_over_sync(double time_of_sync, const Estimate& iteration_time) {
  const Basis time = iteration_time.basis;
  const Basis basis = time == Basis::upper   ? Basis::lower
                      : time == Basis::lower ? Basis::upper
                                             : time;
  return {time_of_sync / iteration_time.value, basis};
}

Estimate speedup_over_sync(const Distribution& runtime, std::uint32_t learners,
                           const Estimate& iteration_time) {
  return speedup_over_sync(runtime.expected_order_statistic(learners, learners), iteration_time);
}

}  // namespace gradrace
