#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/make_protocol.h"
#include "sim/observer.h"

namespace gradrace {

/// Decides who finishes when and which gradient enters which update, and knows nothing of
/// parameters: what it decides is the tape.  It hands what happens on the engine to the owner of
/// the values, asks the owner what is to be evaluated, and ends segments and the run.
class TimingPlane {
 public:
  /// `limit`: a segment ends when its gradients and uses are so many, or its evaluations, and after
  /// a million events, or a tenth of a second, in any case.  Without `taped` segments stay empty.
  /// The observer may be null; it and the race must outlive the plane.
  TimingPlane(const Race& race, std::uint32_t replica, bool taped, Observer* observer,
              std::uint32_t limit = default_limit);

  static constexpr std::uint32_t default_limit = 4096;

  /// Goes on to the end of the next segment.  Not to be called after End::finished.
  const Segment& next_segment();

  /// What the last evaluation of the segment found, for a protocol that asked.
  void tell(const Evaluation& answer) { answer_ = answer; }

  /// Norms of the updates of the segment, for codes that go by them, and bytes of its messages and
  /// of its updates that are sent back, where these vary.
  void hear(std::span<const double> norms, std::span<const double> bytes,
            std::span<const double> bytes_back) {
    for (const double norm : norms) engine_.codes()->hear(norm);
    for (const double bytes_of_update : bytes_back) engine_.hear_back(bytes_of_update);
    heard_.insert(heard_.end(), bytes.begin(), bytes.end());
  }

  /// Ends the run at the verdict that closed the last segment.
  void stop() { finish(); }

  /// The evaluations of the segment, in order.
  const std::vector<EvaluationPoint>& evaluations() const { return evaluations_.of_segment(); }

  Totals totals() const;
  std::span<const std::uint64_t> staleness_counts() const { return owner_->staleness_counts(); }
  std::vector<LearnerTotals> learner_totals() const { return owner_->learner_totals(); }
  Losses losses() const { return owner_->losses(); }
  OuterUpdates outer_updates() const { return owner_->outer_updates(); }
  Utilisation utilisation() const { return engine_.utilisation(); }
  /// Sum over updates of the gradients outstanding at each (in flight or accepted for a later
  /// update).
  std::uint64_t outstanding_sum() const { return owner_->outstanding_sum(); }
  /// Why the run ended where it could not go on; else empty.
  const std::string& standstill() const { return owner_->standstill(); }
  /// Share of the run that is done by its nearest limit, 0 to 1.
  double progress() const;

 private:
  void start();
  void step();
  void happen(const Happening& happening);
  bool is_quiet() const {
    return made_.updates < quiet_.updates && work_.gradients < quiet_.gradients;
  }
  void on_update();
  void evaluate();
  void evaluate_for_protocol();
  void answer();
  void tell_bytes();
  void end_segment(End why);
  void finish();
  Reached reached() const;

  const Race& race_;
  const std::uint32_t limit_;
  const bool judged_, wants_norms_;
  const std::vector<CountedLimit> limits_;
  const AnyProtocol protocol_;

  TapeWriter tape_;
  Engine engine_;
  Quiet quiet_;
  const std::unique_ptr<Owner> owner_;
  const Totals& made_;  // the owner's
  const Work& work_;    // the owner's
  Evaluations evaluations_;

  bool started_ = false, finished_ = false;
  std::optional<End> end_;  // of the segment; empty: it goes on
  bool answer_due_ = false;
  std::optional<Evaluation> answer_;
  std::vector<double> heard_;  // bytes of messages
  std::size_t told_ = 0;       // of these, to the owner
};

}  // namespace gradrace
