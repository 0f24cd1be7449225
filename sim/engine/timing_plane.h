#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/race.h"
#include "sim/engine/transit.h"
#include "sim/evaluation.h"
#include "sim/observer.h"
#include "sim/protocol.h"
#include "sim/tape.h"

namespace gradrace {

/// What is known of an evaluation before its numbers are.
struct EvaluationPoint {
  double time = 0;
  std::uint64_t update = 0;
  std::uint64_t gradients = 0;  // applied
  double epoch = 0;             // NaN without a training set
  double learning_rate = 0;     // eta of a fresh gradient; NaN without a model
  std::uint32_t k = 0;
};

/// Times of one learner, up to the clock.
struct LearnerTotals {
  double busy = 0, wasted = 0;  // computing; wasted: on gradients cancelled, dropped or lost
  std::uint32_t gradients = 0;  // applied
  std::uint32_t draws = 0;      // minibatches that arrived, were cancelled or lost
};

/// Decides who finishes when and which gradient enters which update: one clock, one queue of
/// pending events, P learners and a parameter server that follows a protocol.  Knows nothing of
/// parameters; what it decides is the tape.
///
/// Checks at every event: the clock is monotone; no learner computes two minibatches at once; the
/// books of the gradients add up.
class TimingPlane : private Server {
 public:
  /// `limit`: a segment ends when its gradients and uses are so many.  Without `taped` segments
  /// stay empty.  The observer may be null; it and the race must outlive the plane.
  TimingPlane(const Race& race, std::uint32_t replica, bool taped, Observer* observer,
              std::uint32_t limit = default_limit);
  ~TimingPlane() override;

  static constexpr std::uint32_t default_limit = 4096;

  /// Goes on to the end of the next segment.  Not to be called after End::finished.
  const Segment& next_segment();

  /// What the last evaluation of the segment found, for a protocol that asked.
  void tell(const Evaluation& answer) { answer_ = answer; }

  /// Ends the run at the verdict that closed the last segment.
  void stop() { finish(); }

  /// The evaluations of the segment, in order.
  const std::vector<EvaluationPoint>& evaluations() const { return evaluations_; }

  const Totals& totals() const { return books_.totals(); }
  const std::vector<std::uint64_t>& staleness_counts() const { return books_.staleness_counts(); }
  std::vector<LearnerTotals> learner_totals() const;
  /// Sum over updates of the gradients outstanding at each (in flight or accepted for a later
  /// update).
  std::uint64_t outstanding_sum() const { return books_.outstanding_sum(); }
  /// Share of the run that is done by its nearest limit, 0 to 1.
  double progress() const;

 private:
  struct Learner {
    double begin = 0;  // dispatch of the minibatch it computes, or computed last
    double busy = 0, wasted = 0;
    std::uint32_t version = 0;
    std::uint32_t draws = 0;
    GradientId gradient = 0;
    std::uint32_t applied = 0;
    std::uint32_t place = 0;  // in waiting_, while it is idle
    std::uint16_t plan = 0;
    bool computing = false;
  };

  // Orders of the protocol.
  std::uint32_t learners() const override { return race_.learners; }
  std::uint32_t version() const override { return books_.version(); }
  std::uint32_t accepted() const override { return static_cast<std::uint32_t>(accepted_.size()); }
  double time() const override { return books_.time(); }
  const Work& work() const override { return work_; }
  void dispatch(std::uint32_t learner) override;
  void dispatch_waiting() override;
  void accept(const Arrival& arrival) override;
  void drop(const Arrival& arrival) override;
  void cancel_all() override;
  void update() override;
  void pause(double length) override;
  void evaluate_at(double time) override;
  void follow(std::uint16_t plan) override;

  /// What has a place of its own among the pending events, after the learners.
  enum Clockwork : std::uint32_t { evaluation, feedback, end, clockwork };
  std::uint32_t slot(Clockwork what) const { return race_.learners + what; }

  bool needs_transit() const { return race_.transit.any() || protocol_->pauses(); }
  void start();
  void step();
  void on_clock(std::uint32_t slot);
  void on_transit(std::uint32_t slot);
  void on_arrival(std::uint32_t learner);
  void begin_minibatch(std::uint32_t learner);
  double runtime(std::uint32_t learner, double begin);
  double end_minibatch(std::uint32_t learner);
  void lose(std::uint32_t learner);
  void wait(std::uint32_t learner);
  void decide(const Arrival& arrival);
  void discard(const GradientFacts& gradient, double begin, double computed, Ending ending);
  void use(GradientId gradient, std::uint32_t staleness, std::uint32_t count);
  void advance_work(std::uint32_t gradients, std::uint64_t samples);
  void evaluate();
  void evaluate_by_work();
  void evaluate_for_protocol();
  void answer();
  bool limits_met() const;
  void finish();
  void check_books() const { books_.check(computing_ + accepted_.size()); }
  GradientFacts facts(std::uint32_t learner) const;
  double eta(std::uint32_t staleness, std::uint32_t gradients) const;

  const Race& race_;
  const std::uint32_t replica_;
  const bool taped_;
  Observer* const observer_;
  const std::uint32_t limit_;
  const std::unique_ptr<Protocol> protocol_;
  const std::unique_ptr<Runtimes> runtimes_;  // null: independent draws

  EventQueue queue_;
  std::unique_ptr<Transit> transit_;  // null: a gradient arrives when it is computed
  std::vector<Learner> learners_;
  std::vector<std::uint32_t> waiting_;  // idle learners
  std::vector<GradientFacts> accepted_;
  GradientFacts arriving_{};  // what the protocol is called for
  double arriving_begin_ = 0, arriving_computed_ = 0;
  bool undecided_ = false;
  std::uint32_t computing_ = 0;

  Books books_;
  Work work_;
  std::uint16_t plan_ = 0;  // in force

  bool started_ = false, finished_ = false, verdict_wanted_ = false;
  bool answer_due_ = false;
  std::optional<Evaluation> answer_;
  bool segment_due_ = false;
  std::uint64_t segment_size_ = 0;  // gradients and uses, also of a run without a tape
  std::uint64_t evaluations_made_ = 0;
  std::uint64_t timed_evaluations_ = 0;
  std::uint64_t evaluations_by_updates_ = 0;
  double evaluations_by_epochs_ = 0;
  EvaluationPoint last_evaluation_;

  Segment segment_;
  std::vector<EvaluationPoint> evaluations_;
};

}  // namespace gradrace
