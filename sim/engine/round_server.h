#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/drawn_times.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/engine/timing_server.h"
#include "sim/large_pages.h"
#include "sim/server_protocol.h"

namespace gradrace {

/// Minibatches all begin together, at the start and at each update, which takes the first K and
/// cancels the others: an update is one event.
class RoundServer : public TimingServer {
 public:
  /// All must outlive it.  The protocol restarts all.
  RoundServer(const Race& race, const ServerProtocol& protocol, Engine& engine, TapeWriter& tape);

  void start() override { begin(); }
  /// The update is due.
  void on_timer() override;

  const Totals& totals() const override { return totals_; }
  std::span<const std::uint64_t> staleness_counts() const override { return staleness_counts_; }
  std::uint64_t outstanding_sum() const override { return totals_.cancelled; }

 protected:
  /// All minibatches of the round begin; when the K-th of them will have ended.  RunError where a
  /// time overflows.
  virtual double begin_round() = 0;
  /// They end with the update of now.
  virtual void end_round() {}

  std::uint32_t round() const { return static_cast<std::uint32_t>(totals_.updates); }

 private:
  void begin();

  Totals totals_;
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
