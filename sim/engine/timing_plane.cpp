#include "sim/engine/timing_plane.h"

#include <algorithm>

namespace gradrace {

TimingPlane::TimingPlane(const Race& race, std::uint32_t replica, bool taped, Observer* observer,
                         std::uint32_t limit)
    : race_(race),
      limit_(limit),
      judged_(is_judged(race.stop)),
      limits_(counted_limits(race.stop)),
      protocol_(race.make_protocol()),
      tape_(taped),
      engine_(race, replica, race.transit.any() || protocol_->pauses(), tape_, observer),
      server_(race, *protocol_, engine_, tape_, observer),
      evaluations_(race.evaluations) {}

const Segment& TimingPlane::next_segment() {
  GRADRACE_CHECK(!finished_, "the run is over");
  tape_.begin();
  evaluations_.begin_segment();
  end_.reset();
  if (!started_) start();
  if (answer_due_) answer();
  while (!end_) step();
  return tape_.cut(server_.live(), *end_);
}

void TimingPlane::start() {
  started_ = true;
  using enum Happening::Kind;
  if (evaluations_.by_time()) engine_.set(evaluation, evaluations_.next_time());
  if (race_.stop.time) engine_.set(end, *race_.stop.time);
  engine_.start();
  server_.start();
  evaluate();
}

void TimingPlane::step() {
  const Happening happening = engine_.next();
  const std::uint64_t updates = server_.books().totals().updates;
  using enum Happening::Kind;
  switch (happening.kind) {
    case arrival:
      server_.on_arrival(happening.learner);
      engine_.done(happening);
      break;
    case timer:
      server_.on_timer();
      engine_.done(happening);
      break;
    case loss:
      server_.on_loss(happening.learner);
      break;
    case back:
      server_.on_return(happening.learner);
      break;
    case evaluation:
      evaluate();
      engine_.set(evaluation, evaluations_.next_time());
      break;
    case look:
      evaluate_for_protocol();
      break;
    case end:
      return finish();
    case passage:
      break;
  }
  const std::uint64_t made = server_.books().totals().updates;
  if (made != updates && static_cast<double>(made) >= quiet_until_) on_update();
  if (tape_.size() >= limit_) end_segment(End::limit);
}

void TimingPlane::on_update() {
  const Reached run = reached();
  if (evaluations_.due(server_.books().totals().updates, run.epochs)) evaluate();
  quiet_until_ = evaluations_.next_update();
  for (const auto& [what, limit] : limits_) {
    if (run.*what >= limit) return finish();
    quiet_until_ = what == &Reached::updates ? std::min(quiet_until_, limit) : 0;
  }
}

Reached TimingPlane::reached() const {
  return {engine_.time(), static_cast<double>(server_.books().totals().updates),
          static_cast<double>(server_.work().gradients), server_.work().epochs};
}

void TimingPlane::evaluate() {
  if (evaluations_.made(engine_.time(), server_.books().totals().updates)) return;
  evaluations_.add(server_.point());
  tape_.evaluate(server_.value());
  if (judged_) end_segment(End::verdict);
}

/// The segment ends, so that the answer is there when the next one begins; it may be there already.
void TimingPlane::evaluate_for_protocol() {
  evaluate();
  if (evaluations().empty()) return answer();
  answer_due_ = true;
  end_segment(End::feedback);
}

void TimingPlane::answer() {
  answer_due_ = false;
  if (answer_) server_.on_evaluation(*answer_);  // a timing-only run has none
}

/// For the first reason that is given but its length.
void TimingPlane::end_segment(End why) {
  if (!end_ || end_ == End::limit) end_ = why;
}

void TimingPlane::finish() {
  evaluate();
  engine_.finish();
  finished_ = true;
  end_ = End::finished;
}

Totals TimingPlane::totals() const {
  Totals totals = server_.books().totals();
  totals.time = engine_.time();
  return totals;
}

double TimingPlane::progress() const {
  return finished_ ? 1.0 : gradrace::progress(reached(), race_.stop);
}

}  // namespace gradrace
