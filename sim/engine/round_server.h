#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/drawn_times.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/large_pages.h"
#include "sim/protocol.h"

namespace gradrace {

/// Owner of one chain of values in a timing-only run whose minibatches all begin together, at the
/// start and at each update, which takes the first K and cancels the others: an update is one
/// event, and no minibatch is pending.
class RoundServer : public Owner {
 public:
  /// All must outlive it.  The protocol restarts_all().
  RoundServer(const Race& race, const ServerProtocol& protocol, Engine& engine, TapeWriter& tape);

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
  std::span<const std::uint64_t> staleness_counts() const override { return staleness_counts_; }
  std::uint64_t outstanding_sum() const override { return totals_.cancelled; }

 protected:
  /// All minibatches of the round begin; when the K-th of them will have ended.  RunError where a
  /// time overflows.
  virtual double begin_round() = 0;
  /// They end with the update of now.
  virtual void end_round() {}

  std::uint32_t round() const { return static_cast<std::uint32_t>(totals_.updates); }

  const Race& race_;
  const std::uint32_t k_;
  Engine& engine_;
  TapeWriter& tape_;

 private:
  void begin();
  [[noreturn]] static void refuse();

  Totals totals_;
  Work work_;
  std::vector<std::uint64_t> staleness_counts_;  // all gradients are fresh
};

/// Every minibatch has its draw, the same as where its end is an event.
class EachDrawnServer final : public RoundServer {
 public:
  /// Runtimes are independent draws of race.runtime alone, and take time.
  EachDrawnServer(const Race& race, std::uint32_t replica, const ServerProtocol& protocol,
                  Engine& engine, TapeWriter& tape);

  std::vector<LearnerTotals> learner_totals() const override;
  void finish() override { is_over_ = true; }

 private:
  struct Learner {
    double end = 0;  // of its minibatch
    double busy = 0, wasted = 0;
    std::uint32_t applied = 0;
  };

  static constexpr std::size_t most_few = 16;

  double begin_round() override;
  void end_round() override;

  DrawnTimes drawn_;
  double began_ = 0;  // the round
  LargeVector<Learner> learners_;
  LargeVector<double> in_order_;  // ends of minibatches, some of them: scratch
  bool is_over_ = false;          // the run
};

/// Only the time of the K-th is drawn, as the K-th smallest of P runtimes, whatever P is.  Nothing
/// is known of one learner, and of the minibatches that begin together the tape counts one.
class OrderStatisticServer final : public RoundServer {
 public:
  /// Runtimes are independent draws of race.runtime alone.
  OrderStatisticServer(const Race& race, std::uint32_t replica, const ServerProtocol& protocol,
                       Engine& engine, TapeWriter& tape)
      : RoundServer(race, protocol, engine, tape), replica_(replica) {}

  /// None: they are not told apart.
  std::vector<LearnerTotals> learner_totals() const override { return {}; }

 private:
  double begin_round() override;

  const std::uint32_t replica_;
};

}  // namespace gradrace
