#include "sim/engine/run.h"

#include <cmath>
#include <limits>
#include <utility>

#include "sim/check.h"
#include "sim/engine/recipes.h"
#include "sim/run_error.h"

namespace gradrace {

Run::Run(const Race& race, std::uint32_t replica, bool with_model, Observer* observer,
         CurveSink* curve, std::uint32_t segment_limit)
    : race_(race),
      replica_(replica),
      with_model_(with_model),
      observer_(observer),
      curve_(curve),
      segment_limit_(segment_limit),
      protocol_listens_(with_model && race.make_protocol()->traits().needs_evaluations),
      plane_(std::make_unique<TimingPlane>(race, replica, with_model, observer, segment_limit)) {}

/// False: the run has failed there.
template <class Step>
bool Run::went_well(Step step) {
  try {
    step();
    return true;
  } catch (const RunError& error) {
    over_ = true;
    record_.status = Status::failed;
    record_.reason = error.what();
    return false;
  }
}

const Segment* Run::advance() {
  if (over_) return nullptr;
  const Segment* segment = nullptr;
  if (!went_well([&] { segment = &plane_->next_segment(); })) return nullptr;
  last_end_ = segment->end;
  if (!with_model_) {
    for (const auto& point : plane_->evaluations()) tell({point, {}}, {});
    if (last_end_ == End::finished) {
      end();
    }
  }
  return segment;
}

void Run::take(const Results& results) {
  went_well([&] { take_answers(results); });
}

void Run::take_answers(const Results& results) {
  const auto& points = plane_->evaluations();
  const std::size_t looks = 1 + race_.learners_evaluated();
  GRADRACE_CHECK(results.evaluations.size() == points.size() * looks,
                 "the device answers every evaluation once");
  record_.gradients_computed += results.gradients_computed;
  const Evaluation& last = record_.last.evaluation;
  for (std::size_t i = 0; i < points.size(); ++i) {
    add(points[i], std::span(results.evaluations).subspan(i * looks, looks),
        results.rate_factors.empty() ? 1.0 : results.rate_factors[i * looks]);
    if (!std::isfinite(last.loss)) return end_as_diverged();
  }
  if (!points.empty()) plane_->tell(last);
  norms_.insert(norms_.end(), results.norms.begin(), results.norms.end());
  bytes_.insert(bytes_.end(), results.bytes.begin(), results.bytes.end());
  bytes_back_.insert(bytes_back_.end(), results.bytes_back.begin(), results.bytes_back.end());
  plane_->hear(results.norms, results.bytes, results.bytes_back);
  const bool judged = last_end_ == End::verdict || last_end_ == End::feedback;
  const bool reached = judged && meets(last, race_.stop);
  if (last_end_ != End::finished && !reached) return;
  end();
  record_.hash = results.hash;
  if (reached) plane_->stop();
}

/// looks: at the mean, which has the disagreement, and at learners.
void Run::add(const EvaluationPoint& point, std::span<const Evaluation> looks, double rate_factor) {
  CurvePoint seen{point, looks.front()};
  seen.point.learning_rate *= rate_factor;
  if (race_.evaluated != EvaluatedValue::first) return tell(seen, looks.subspan(1));
  seen.evaluation = looks.back();
  seen.evaluation.disagreement = looks.front().disagreement;
  seen.evaluation.compression_error = looks.front().compression_error;
  tell(seen, {});
}

void Run::tell(const CurvePoint& seen, std::span<const Evaluation> of_learners) {
  record_.last = seen;
  ++evaluations_;
  if (protocol_listens_) heard_.push_back(seen.evaluation);
  if (curve_) curve_->add(seen, of_learners);
}

void Run::end() {
  over_ = true;
  record_.reason = plane_->standstill();
  record_.status = record_.reason.empty() ? Status::finished : Status::deadlocked;
}

/// The timing plane has run on past the evaluation that showed the divergence: it is cheap to run
/// it again up to there, so that every record ends at that moment.
void Run::end_as_diverged() {
  over_ = true;
  record_.status = Status::diverged;
  Race again = race_;
  again.stop.loss = -std::numeric_limits<double>::infinity();  // a segment ends at each evaluation
  const bool asks = !bytes_.empty() || !bytes_back_.empty();
  TimingPlane plane(again, replica_, asks, observer_, segment_limit_);
  plane.hear(norms_, bytes_, bytes_back_);
  for (std::uint64_t made = 0; plane.next_segment().end != End::finished;) {
    made += plane.evaluations().size();
    if (protocol_listens_ && made > 0) plane.tell(heard_[made - 1]);
    if (made < evaluations_) continue;
    plane.stop();
    break;
  }
  count(plane);
  plane_.reset();
}

RunRecord Run::record() {
  if (plane_) count(*plane_);
  return std::move(record_);
}

void Run::count(const TimingPlane& plane) {
  const auto counts = plane.staleness_counts();
  record_.totals = plane.totals();
  record_.staleness_counts.assign(counts.begin(), counts.end());
  record_.learners = plane.learner_totals();
  record_.losses = plane.losses();
  record_.outer = plane.outer_updates();
  record_.utilisation = plane.utilisation();
}

void drive(std::span<Run> cohort, Device* device, const std::function<bool()>& go_on) {
  std::vector<Tape> tapes;
  for (const auto& run : cohort) {
    Tape tape{run.race().seed, run.replica(), {}, {}};
    tape.recipes = Recipes(run.race().plans).all();
    for (const auto& plan : run.race().plans) {
      tape.rules.push_back(plan.rule);
      tape.messages.push_back(plan.message);
    }
    if (run.race().local_steps > 1) tape.rules.emplace_back();  // of a learner's own steps
    if (const auto& codes = run.race().codes) {
      for (const auto& compressor : codes->compressors) tape.messages.push_back({compressor});
      tape.wants_norms = true;
    }
    if (run.race().versions() > 1) tape.ranges = run.race().transit.server->parts;
    tape.dual = run.race().dual;
    tape.coded_numbers = run.race().coded_numbers;
    tape.wants_bytes = run.race().asks_for_bytes();
    tape.wants_bytes_back = run.race().asks_for_bytes_back();
    tapes.push_back(std::move(tape));
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
