#include "sim/run.h"

#include <cmath>

#include "sim/check.h"

namespace gradrace {

Run::Run(const Race& race, std::uint32_t replica, bool with_model, Observer* observer,
         std::uint32_t segment_limit)
    : race_(race),
      replica_(replica),
      with_model_(with_model),
      observer_(observer),
      segment_limit_(segment_limit),
      plane_(std::make_unique<TimingPlane>(race, replica, with_model, observer, segment_limit)) {}

const Segment* Run::advance() {
  if (over_) return nullptr;
  const Segment& segment = plane_->next_segment();
  last_end_ = segment.end;
  if (!with_model_) {
    for (const auto& point : plane_->evaluations()) record_.curve.push_back({point, {}});
    if (last_end_ == End::finished) {
      over_ = true;
      record_.status = Status::finished;
    }
  }
  return &segment;
}

void Run::take(const Results& results) {
  const auto& points = plane_->evaluations();
  GRADRACE_CHECK(results.evaluations.size() == points.size(),
                 "the device answers every evaluation once");
  record_.gradients_computed += results.gradients_computed;
  for (std::size_t i = 0; i < points.size(); ++i) {
    record_.curve.push_back({points[i], results.evaluations[i]});
    if (!std::isfinite(results.evaluations[i].loss)) return end_as_diverged();
  }
  const bool reached = last_end_ == End::verdict && verdict(results.evaluations.back());
  if (last_end_ != End::finished && !reached) return;
  over_ = true;
  record_.status = Status::finished;
  record_.hash = results.hash;
  if (reached) plane_->stop();
}

bool Run::verdict(const Evaluation& evaluation) const {
  const Stop& stop = race_.stop;
  return (stop.loss && evaluation.loss <= *stop.loss) ||
         (stop.test_error && evaluation.test_error <= *stop.test_error);
}

/// The timing plane has run on past the evaluation that showed the divergence: it is cheap to run
/// it again up to there, so that every record ends at that moment.
void Run::end_as_diverged() {
  over_ = true;
  record_.status = Status::diverged;
  Race again = race_;
  again.stop.evaluations = record_.curve.size();
  TimingPlane plane(again, replica_, false, observer_, segment_limit_);
  while (plane.next_segment().end != End::finished) {
  }
  record_.totals = plane.totals();
  record_.staleness_counts = plane.staleness_counts();
  record_.learners = plane.learner_totals();
  plane_.reset();
}

RunRecord Run::record() {
  if (plane_) {
    record_.totals = plane_->totals();
    record_.staleness_counts = plane_->staleness_counts();
    record_.learners = plane_->learner_totals();
  }
  return std::move(record_);
}

void drive(std::span<Run> cohort, Device* device, const std::function<bool()>& go_on) {
  std::vector<Tape> tapes;
  for (const auto& run : cohort) {
    tapes.push_back({run.race().seed, run.replica(), {run.race().recipe}, {run.race().rule}});
  }
  if (device) device->start(tapes);
  std::vector<const Segment*> wave(cohort.size());
  std::vector<Results> results(cohort.size());
  bool live = true;
  while (live && go_on()) {
    live = false;
    for (std::size_t i = 0; i < cohort.size(); ++i) wave[i] = cohort[i].advance();
    if (device) device->replay(wave, results);
    for (std::size_t i = 0; i < cohort.size(); ++i) {
      if (device && wave[i]) cohort[i].take(results[i]);
      live = live || !cohort[i].over();
    }
  }
}

}  // namespace gradrace
