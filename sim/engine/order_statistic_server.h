#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/protocol.h"

namespace gradrace {

/// Owner of one chain of values in a timing-only run with Sampler::order_statistic: an update is
/// one event, whatever P is, at a time drawn after the last that is the K-th smallest of P
/// runtimes. Minibatches are counted as the protocol would have them end; nothing is known of one
/// learner.
///
/// Of the minibatches that begin together the tape counts one.
class OrderStatisticServer final : public Owner {
 public:
  /// All must outlive it.  The protocol restarts_all(), and runtimes are independent draws of
  /// race.runtime alone.
  OrderStatisticServer(const Race& race, std::uint32_t replica, const ServerProtocol& protocol,
                       Engine& engine, TapeWriter& tape);

  void start() override { begin(); }
  /// The update is due.
  void on_timer() override;
  void on_arrival(std::uint32_t) override { refuse(); }
  void on_loss(std::uint32_t) override { refuse(); }
  void on_return(std::uint32_t) override { refuse(); }
  void on_exchange(std::uint32_t) override { refuse(); }
  void on_evaluation(const Evaluation&) override { refuse(); }

  void evaluate(Evaluations& evaluations) override;
  std::span<const ValueId> live() override { return {}; }

  const Totals& totals() const override { return totals_; }
  const Work& work() const override { return work_; }
  const std::vector<std::uint64_t>& staleness_counts() const override { return staleness_counts_; }
  /// None: they are not told apart.
  std::vector<LearnerTotals> learner_totals() const override { return {}; }

 private:
  void begin();
  [[noreturn]] static void refuse();

  const Race& race_;
  const std::uint32_t replica_, k_;
  Engine& engine_;
  TapeWriter& tape_;
  Totals totals_;
  Work work_;
  std::vector<std::uint64_t> staleness_counts_{0};  // all gradients are fresh
};

}  // namespace gradrace
