#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/clients/local_steps.h"
#include "sim/make_protocol.h"

namespace gradrace {

/// `max_staleness` of a protocol whose learners go on while others compute: no gradient is used at
/// a staleness above `bound`, s.
///
/// drop: one that arrives staler is dropped, and its learner reads the current version: Ringmaster
/// ASGD without stops, of delay threshold R = s + 1 (Maranjyan, Tyurin, Richtarik, ICML 2025).
///
/// pace: none is lost; learners and gradients wait.  With K gradients an update, those that were
/// read j or more versions ago and not used yet are at most K (s - j + 1) for each j from 0 to s:
/// so many can be used in time.  A minibatch begins if that holds with it, in the order in which
/// learners became idle; of gradients that have arrived the one of the oldest version is used
/// first, and only if those older that are on their way still can be.  Of a learner that comes back
/// after a failure when there are as many a gradient may be dropped.
struct StalenessBound {
  bool given = false, paces = false;
  std::uint32_t bound = 0;

  /// Of the protocol's open object.
  void visit(Fields& fields);
  /// That protocol, so bounded.
  std::unique_ptr<ServerProtocol> around(std::unique_ptr<ServerProtocol> protocol) const;
};

/// The `read` of a protocol's entry, with the key.
template <class P>
MakeProtocol read_with_staleness_bound(Fields& fields, const Setting& setting) {
  typename P::Config config;
  P::visit(fields, config, setting.learners);
  StalenessBound bound;
  bound.visit(fields);
  LocalSteps steps;
  steps.visit(fields);
  if (bound.paces && steps.tau.value_or(1) > 1)
    fields.complain("tau", "does not go with max_staleness that paces", "1, or beyond: drop");
  if (!fields.good()) return {};
  if (!bound.given)
    return steps.before(
        [config, learners = setting.learners] { return std::make_unique<P>(config, learners); });
  return steps.before([config, bound, learners = setting.learners] {
    return bound.around(std::make_unique<P>(config, learners));
  });
}

}  // namespace gradrace
