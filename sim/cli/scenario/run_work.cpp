#include "sim/cli/scenario/run_work.h"

#include <algorithm>
#include <limits>

#include "sim/engine/timing_plane.h"

namespace gradrace {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double passes_of_gradient = 3;  // forward, and back by weights and by what is below

/// How far a run comes until the first of its limits.
Reached extent_of(const Race& race, const Theory& theory, std::uint32_t k) {
  const double samples = race.plans[0].minibatch.mean();
  const double epochs_of_gradient =
      race.training_rows > 0 ? samples / static_cast<double>(race.training_rows) : 0;
  const double time_of_update = theory.iteration_time ? theory.iteration_time->value
                                                      : k * race.runtime->mean() / race.learners;
  const Reached of_update{time_of_update, 1, static_cast<double>(k), k * epochs_of_gradient};
  double updates = infinity;
  for (const StopCondition& condition : stop_conditions())
    if (const auto limit = condition.of(race.stop); limit && condition.reached)
      updates = std::min(updates, *limit / of_update.*condition.reached);
  return {updates * of_update.time, updates, updates * k, updates * of_update.epochs};
}

double evaluations_in(const Reached& extent, const EvaluationSchedule& every) {
  double count = 2;
  if (every.every_time) count += extent.time / *every.every_time;
  if (every.every_updates) count += extent.updates / static_cast<double>(*every.every_updates);
  if (every.every_epochs) count += extent.epochs / *every.every_epochs;
  return count;
}

/// Events of an update that takes K gradients.
double events_of_update(const Point& point, const AnyProtocol& protocol) {
  if (point.sampler == Sampler::order_statistic) return 1;
  return protocol->traits().restarts_all ? point.cluster.learners : protocol->k();
}

}  // namespace

double run_work(const Point& point, const Race& race, const Theory& theory, std::size_t numbers) {
  const auto protocol = point.make_protocol();
  const Reached extent = extent_of(race, theory, std::max(1u, protocol->k()));
  if (!point.with_model()) return extent.updates * events_of_update(point, protocol);
  const double rows = static_cast<double>(
      std::max<std::uint64_t>(1, point.rows.train.value_or(race.training_rows)));
  const double passed =
      passes_of_gradient * extent.gradients * race.plans[0].minibatch.mean() +
      evaluations_in(extent, race.evaluations) * rows * (1 + race.learners_evaluated());
  return passed * static_cast<double>(numbers);
}

std::uint32_t segment_limit(const Race& race, std::size_t numbers) {
  constexpr double work_of_seconds = 1e10, usual = TimingPlane::default_limit;
  const double of_gradient = passes_of_gradient * race.plans[0].minibatch.mean() *
                             static_cast<double>(std::max<std::size_t>(numbers, 1));
  return static_cast<std::uint32_t>(std::clamp(work_of_seconds / of_gradient, 1.0, usual));
}

}  // namespace gradrace
