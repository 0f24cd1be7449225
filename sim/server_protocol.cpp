#include "sim/server_protocol.h"

namespace gradrace {

/// What is never stale is not stale where messages take time.
Theory ServerProtocol::theory(const Conditions& conditions) const {
  Theory theory;
  theory.fewer_than_k = traits().fewer_than_k;
  const auto [mean, reading] = staleness(conditions.learners);
  if (!conditions.delayed || mean == 0.0) theory.staleness = mean;
  const bool goes_on = reading == ReadOrder::after_arrival || reading == ReadOrder::before_update;
  if (conditions.delayed && conditions.road && goes_on)
    theory.iteration_time = time_on_road(conditions, k());
  if (conditions.delayed) return theory;
  theory.reading = reading;
  if (conditions.law || !conditions.means.empty())
    theory.iteration_time = iteration_time(conditions);
  return theory;
}

}  // namespace gradrace
