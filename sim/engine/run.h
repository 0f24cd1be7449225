#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/device.h"
#include "sim/engine/curve_sink.h"
#include "sim/engine/race.h"
#include "sim/engine/timing_plane.h"
#include "sim/observer.h"

namespace gradrace {

/// deadlocked: learners waited for each other in a circle; failed: it could not be made, or not to
/// its end.
enum class Status : std::uint8_t { finished, diverged, interrupted, deadlocked, failed };

/// What is kept of one run, however long it is.
struct RunRecord {
  Status status = Status::interrupted;
  std::string reason;  // of a deadlock: when, and who waits for whom; of a failure: why
  Totals totals;
  CurvePoint last;                              // of the curve
  std::vector<std::uint64_t> staleness_counts;  // [staleness] over applied gradients
  std::vector<LearnerTotals> learners;
  Losses losses;
  OuterUpdates outer;
  Utilisation utilisation;
  std::uint64_t gradients_computed = 0;  // forward passes
  std::uint64_t hash = 0;  // of the final parameters; 0 in a timing-only or diverged run
};

/// One run of a race: its timing plane, and what comes back from the device.
class Run {
 public:
  /// Observer and curve may be null; they and the race must outlive the run.
  Run(const Race& race, std::uint32_t replica, bool with_model, Observer* observer,
      CurveSink* curve = nullptr, std::uint32_t segment_limit = TimingPlane::default_limit);

  /// The next segment; null when the run is over.  Here and in take() a RunError ends the run as
  /// failed.
  const Segment* advance();

  /// What the device found in the segment that advance() gave last; not called in a timing-only
  /// run.
  void take(const Results& results);

  double progress() const { return over_ ? 1.0 : plane_->progress(); }
  bool over() const { return over_; }
  /// Gradients applied so far.
  std::uint64_t applied() const {
    return plane_ ? plane_->totals().applied : record_.totals.applied;
  }
  std::uint32_t replica() const { return replica_; }
  const Race& race() const { return race_; }

  /// To be called once, when the run is over or abandoned.
  RunRecord record();

 private:
  void add(const EvaluationPoint& point, std::span<const Evaluation> looks, double rate_factor);
  void tell(const CurvePoint& seen, std::span<const Evaluation> of_learners);
  void take_answers(const Results& results);
  void end();
  void end_as_diverged();
  void count(const TimingPlane& plane);
  template <class Step>
  bool went_well(Step step);

  const Race& race_;
  const std::uint32_t replica_;
  const bool with_model_;
  Observer* const observer_;
  CurveSink* const curve_;
  const std::uint32_t segment_limit_;
  const bool protocol_listens_;
  std::unique_ptr<TimingPlane> plane_;
  End last_end_ = End::limit;
  bool over_ = false;
  RunRecord record_;
  std::uint64_t evaluations_ = 0;           // told
  std::vector<double> norms_;               // of all updates, where codes go by them; likewise
  std::vector<double> bytes_, bytes_back_;  // of all messages, where these vary; likewise
  std::vector<Evaluation> heard_;  // all, where the protocol listens: told again after a divergence
};

/// Runs a cohort to its end: every live run gives a segment, the device replays them as one wave,
/// and so on.  Without a device the runs are timing-only.  `go_on` is asked after each wave; false
/// leaves the rest as Status::interrupted.
void drive(std::span<Run> cohort, Device* device, const std::function<bool()>& go_on);

}  // namespace gradrace
