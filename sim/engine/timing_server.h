#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "sim/check.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/server_protocol.h"

namespace gradrace {

/// Owner of one chain of values in a timing-only run whose minibatches are no events: the timer
/// says when the next update is due.
class TimingServer : public Owner {
 public:
  /// All must outlive it.
  TimingServer(const Race& race, const ServerProtocol& protocol, Engine& engine, TapeWriter& tape)
      : Owner(race, engine, tape), k_(protocol.k()) {
    GRADRACE_CHECK(!tape.taped() && !race.make_runtimes && !race.runtime->has_memory() &&
                       !race.transit.any() && !protocol.traits().pauses && !race.counts_rows(),
                   "minibatches are no independent draws, or more than draws");
  }

  void on_arrival(std::uint32_t) final { refuse(); }
  void on_loss(std::uint32_t) final { refuse(); }
  void on_return(std::uint32_t) final { refuse(); }
  void on_exchange(std::uint32_t) final { refuse(); }
  void on_evaluation(const Evaluation&) final { refuse(); }

  void evaluate(Evaluations& evaluations) final { evaluations.add(point(k_, k_), changes_); }
  std::span<const ValueId> live() final { return {}; }

 protected:
  /// So many updates were made.
  void count(std::uint64_t updates) {
    changes_ += updates;
    count_work(updates * k_, updates * k_ * race_.plans[0].minibatch[0]);
  }

  const std::uint32_t k_;

 private:
  [[noreturn]] static void refuse() {
    GRADRACE_CHECK(false, "minibatches are no events of this run");
    __builtin_unreachable();
  }
};

}  // namespace gradrace
