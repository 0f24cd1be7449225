#include "sim/engine/timing_plane.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

template <class Limit, class Value>
bool met(const std::optional<Limit>& limit, Value value) {
  return limit && value >= *limit;
}

}  // namespace

TimingPlane::TimingPlane(const Race& race, std::uint32_t replica, bool taped, Observer* observer,
                         std::uint32_t limit)
    : race_(race),
      replica_(replica),
      taped_(taped),
      observer_(observer),
      limit_(limit),
      protocol_(race.make_protocol()),
      runtimes_(race.make_runtimes ? race.make_runtimes(race.seed, replica) : nullptr),
      queue_(race.learners + clockwork +
             (needs_transit() ? Transit::slots(race.transit, race.learners) : 0)),
      learners_(race.learners),
      verdict_wanted_(race.stop.loss || race.stop.test_error) {
  waiting_.reserve(race.learners);
  for (std::uint32_t learner = 0; learner < race.learners; ++learner) wait(learner);
  if (!needs_transit()) return;
  transit_ = std::make_unique<Transit>(
      race.transit, race.learners, race.seed, replica, queue_, slot(clockwork),
      [this](std::uint32_t learner, double begin) { return runtime(learner, begin); });
}

TimingPlane::~TimingPlane() = default;

const Segment& TimingPlane::next_segment() {
  GRADRACE_CHECK(!finished_, "the run is over");
  segment_.clear();
  segment_.first_gradient = static_cast<GradientId>(totals().dispatched);
  evaluations_.clear();
  segment_size_ = 0;
  segment_due_ = false;
  segment_.end = End::limit;
  if (!started_) start();
  if (answer_due_) answer();
  while (!segment_due_) step();
  segment_.live.push_back(version());
  return segment_;
}

void TimingPlane::start() {
  started_ = true;
  if (observer_) observer_->on_start();
  if (race_.evaluations.every_time) {
    queue_.schedule(slot(evaluation), *race_.evaluations.every_time, EventClass::evaluation);
  }
  if (race_.stop.time) queue_.schedule(slot(end), *race_.stop.time, EventClass::end);
  if (transit_) transit_->start();
  protocol_->start(*this);
  check_books();
  evaluate();
  if (limits_met()) finish();
}

void TimingPlane::step() {
  const auto event = queue_.next();
  GRADRACE_CHECK(event.time < std::numeric_limits<double>::infinity(),
                 "nobody computes and nothing is due: the protocol stands still");
  GRADRACE_CHECK(event.time >= time(), "event in the past: now " + std::to_string(time()) +
                                           ", event at " + std::to_string(event.time));
  books_.set_time(event.time);
  switch (event.event_class) {
    case EventClass::arrival:
      transit_ ? on_transit(event.slot) : on_arrival(event.slot);
      break;
    case EventClass::evaluation:
      on_clock(event.slot);
      break;
    case EventClass::end:
      finish();
      return;
  }
  if (limits_met()) finish();
  if (segment_size_ >= limit_) segment_due_ = true;
}

void TimingPlane::on_clock(std::uint32_t due) {
  if (due == slot(feedback)) {
    queue_.remove(due);
    evaluate_for_protocol();
  } else {
    evaluate();
    queue_.schedule(due,
                    *race_.evaluations.every_time * static_cast<double>(++timed_evaluations_ + 1),
                    EventClass::evaluation);
  }
}

void TimingPlane::on_transit(std::uint32_t event) {
  const auto [kind, learner] = transit_->on_event(event, time());
  switch (kind) {
    case Transit::Happening::Kind::passage:
      return;
    case Transit::Happening::Kind::arrival:
      on_arrival(learner);
      return transit_->take_next(time());
    case Transit::Happening::Kind::loss:
      lose(learner);
      break;
    case Transit::Happening::Kind::start:
      begin_minibatch(learner);
      break;
  }
  check_books();
}

void TimingPlane::on_arrival(std::uint32_t learner) {
  arriving_computed_ = end_minibatch(learner);
  wait(learner);
  arriving_ = facts(learner);
  arriving_begin_ = learners_[learner].begin;
  undecided_ = true;
  protocol_->on_gradient(*this,
                         {learner, arriving_.version, arriving_.gradient, arriving_computed_});
  if (!learners_[learner].computing) queue_.remove(learner);  // else its next event has the slot
  check_books();
  evaluate_by_work();
}

void TimingPlane::dispatch(std::uint32_t learner) {
  GRADRACE_CHECK(!learners_[learner].computing, "a learner computes one minibatch at a time");
  const std::uint32_t place = learners_[learner].place, last = waiting_.back();
  waiting_[place] = last;
  learners_[last].place = place;
  waiting_.pop_back();
  begin_minibatch(learner);
}

void TimingPlane::dispatch_waiting() {
  queue_.expect(static_cast<std::uint32_t>(waiting_.size()));
  std::sort(waiting_.begin(), waiting_.end());
  for (const auto learner : waiting_) begin_minibatch(learner);
  waiting_.clear();
}

void TimingPlane::begin_minibatch(std::uint32_t number) {
  if (transit_ && transit_->postpone(number)) return;
  Learner& learner = learners_[number];
  if (totals().dispatched == std::numeric_limits<GradientId>::max()) {
    throw std::runtime_error(
        "a run ends with its 2^32nd minibatch; ask for less time or fewer updates");
  }
  learner.computing = true;
  learner.begin = time();
  learner.version = version();
  learner.gradient = static_cast<GradientId>(totals().dispatched);
  books_.dispatch();
  const std::uint32_t draw = learner.draws++;
  ++computing_;
  ++segment_size_;
  learner.plan = plan_;

  if (transit_) {
    transit_->depart(number, draw, time());
  } else {
    queue_.schedule(number, time() + runtime(number, time()), EventClass::arrival);
  }
  if (taped_) segment_.gradients.push_back({learner.version, number, draw, plan_, Fate::open});
  if (observer_) observer_->on_dispatch(facts(number), time());
}

double TimingPlane::runtime(std::uint32_t number, double begin) {
  const Learner& learner = learners_[number];
  const std::uint32_t draw = learner.draws - 1;
  if (runtimes_)
    return runtimes_->duration(number, draw, begin, race_.plans[learner.plan].recipe.minibatch);
  Stream words = stream({race_.seed, replica_, Purpose::runtime, number, draw});
  return race_.runtime->sample(words);
}

/// How long it was computed.
double TimingPlane::end_minibatch(std::uint32_t number) {
  Learner& learner = learners_[number];
  const double length = transit_ ? transit_->end(number, time()) : time() - learner.begin;
  learner.computing = false;
  learner.busy += length;
  --computing_;
  return length;
}

void TimingPlane::lose(std::uint32_t learner) {
  queue_.remove(learner);
  const double length = end_minibatch(learner);
  books_.lose(learners_[learner].version);
  discard(facts(learner), learners_[learner].begin, length, Ending::lost);
}

void TimingPlane::wait(std::uint32_t learner) {
  learners_[learner].place = static_cast<std::uint32_t>(waiting_.size());
  waiting_.push_back(learner);
}

void TimingPlane::accept(const Arrival& arrival) {
  decide(arrival);
  accepted_.push_back(arriving_);
  if (observer_) observer_->on_end(arriving_, arriving_begin_, time(), Ending::accepted);
}

void TimingPlane::drop(const Arrival& arrival) {
  decide(arrival);
  books_.drop(arriving_.version);
  discard(arriving_, arriving_begin_, arriving_computed_, Ending::dropped);
}

void TimingPlane::decide(const Arrival& arrival) {
  GRADRACE_CHECK(undecided_ && arrival.gradient == arriving_.gradient,
                 "a gradient is accepted or dropped once, when it arrives");
  undecided_ = false;
}

void TimingPlane::cancel_all() {
  queue_.expect(computing_);
  if (transit_) transit_->clear_roads();
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner) {
    if (transit_ && transit_->is_due(learner)) {
      transit_->call_off(learner);
      wait(learner);
    }
    if (!learners_[learner].computing) continue;
    queue_.remove(learner);
    const double length = end_minibatch(learner);
    wait(learner);
    books_.cancel(learners_[learner].version);
    discard(facts(learner), learners_[learner].begin, length, Ending::cancelled);
  }
}

void TimingPlane::discard(const GradientFacts& gradient, double begin, double computed,
                          Ending ending) {
  learners_[gradient.learner].wasted += computed;
  if (taped_) {
    if (gradient.gradient >= segment_.first_gradient) {
      segment_.gradients[gradient.gradient - segment_.first_gradient].fate = Fate::dead;
    } else {
      segment_.dead.push_back(gradient.gradient);
    }
  }
  if (observer_) observer_->on_end(gradient, begin, time(), ending);
}

void TimingPlane::update() {
  GRADRACE_CHECK(!accepted_.empty(), "an update needs a gradient");
  const auto count = static_cast<std::uint32_t>(accepted_.size());
  const auto first_use = static_cast<std::uint32_t>(segment_.uses.size());
  const bool rate_known = observer_ && race_.plans[plan_].rule.distance == 0;
  const double learning_rate = rate_known ? eta(0, count) : not_known;
  const std::uint64_t staleness_before = totals().staleness_sum;
  std::uint64_t samples = 0;
  std::uint32_t max_staleness = 0;
  for (const auto& gradient : accepted_) {
    const std::uint32_t staleness = books_.apply(gradient.version);
    max_staleness = std::max(max_staleness, staleness);
    ++learners_[gradient.learner].applied;
    samples += race_.plans[gradient.plan].recipe.minibatch;
    if (taped_) use(gradient.gradient, staleness, count);
  }
  if (taped_) {
    segment_.ops.push_back({Op::Kind::update, plan_, version() + 1, version(), first_use, count});
  }
  segment_size_ += count;
  const double iteration_time = time() - totals().last_update_time;
  books_.update(computing_);
  if (transit_) transit_->on_update(time());
  advance_work(count, samples);
  if (observer_) {
    observer_->on_update({totals().updates, time(), iteration_time,
                          static_cast<double>(totals().staleness_sum - staleness_before) / count,
                          max_staleness, learning_rate, accepted_});
  }
  accepted_.clear();
}

void TimingPlane::pause(double length) {
  GRADRACE_CHECK(transit_, "a protocol pauses that does not say so");
  transit_->pause(time(), length);
}

void TimingPlane::use(GradientId gradient, std::uint32_t staleness, std::uint32_t count) {
  if (gradient >= segment_.first_gradient) {
    segment_.gradients[gradient - segment_.first_gradient].fate = Fate::used;
  }
  segment_.uses.push_back({gradient, staleness, eta(staleness, count) / count});
}

void TimingPlane::evaluate_at(double due) {
  GRADRACE_CHECK(due >= time(), "an evaluation is asked for in the past");
  queue_.schedule(slot(feedback), due, EventClass::evaluation);
}

void TimingPlane::follow(std::uint16_t plan) {
  GRADRACE_CHECK(plan < race_.plans.size(), "the race has no such plan");
  plan_ = plan;
}

void TimingPlane::advance_work(std::uint32_t gradients, std::uint64_t samples) {
  work_.gradients += gradients;
  work_.samples += samples;
  if (race_.training_rows > 0) {
    work_.epochs = static_cast<double>(work_.samples) / static_cast<double>(race_.training_rows);
  }
}

double TimingPlane::eta(std::uint32_t staleness, std::uint32_t gradients) const {
  const auto& learning_rate = race_.plans[plan_].learning_rate;
  return learning_rate ? learning_rate->eta(work_, staleness, gradients) : not_known;
}

void TimingPlane::evaluate_by_work() {
  const auto& every = race_.evaluations;
  bool due = false;
  if (every.every_updates &&
      totals().updates >= (evaluations_by_updates_ + 1) * *every.every_updates) {
    evaluations_by_updates_ = totals().updates / *every.every_updates;
    due = true;
  }
  if (every.every_epochs) {
    const double passed = std::floor(work_.epochs / *every.every_epochs);
    due = due || passed > evaluations_by_epochs_;
    evaluations_by_epochs_ = passed;
  }
  if (due) evaluate();
}

void TimingPlane::evaluate() {
  const bool done = evaluations_made_ > 0 && last_evaluation_.time == time() &&
                    last_evaluation_.update == totals().updates;
  if (done) return;
  const std::uint32_t k = protocol_->k();
  const EvaluationPoint point{time(),           totals().updates,
                              totals().applied, race_.training_rows > 0 ? work_.epochs : not_known,
                              eta(0, k),        k};
  evaluations_.push_back(point);
  last_evaluation_ = point;
  ++evaluations_made_;
  if (taped_) {
    segment_.ops.push_back({Op::Kind::evaluate, 0, version(), version(), 0, 0});
    if (verdict_wanted_ && segment_.end == End::limit) {
      segment_.end = End::verdict;
      segment_due_ = true;
    }
  }
}

/// The segment ends, so that the answer is there when the next one begins; it may be there already.
void TimingPlane::evaluate_for_protocol() {
  evaluate();
  if (evaluations_.empty()) return answer();
  answer_due_ = true;
  segment_due_ = true;
  if (segment_.end == End::limit) segment_.end = End::feedback;
}

void TimingPlane::answer() {
  answer_due_ = false;
  if (!answer_) return;  // nobody computes: a timing-only run
  protocol_->on_evaluation(*this, *answer_);
  check_books();
}

bool TimingPlane::limits_met() const {
  const Stop& stop = race_.stop;
  return met(stop.updates, totals().updates) || met(stop.gradients, totals().applied) ||
         (race_.training_rows > 0 && met(stop.epochs, work_.epochs)) ||
         met(stop.evaluations, evaluations_made_);
}

void TimingPlane::finish() {
  evaluate();
  for (std::uint32_t number = 0; number < race_.learners; ++number) {
    Learner& learner = learners_[number];
    if (!learner.computing) continue;
    learner.busy += transit_ ? transit_->end(number, time()) : time() - learner.begin;
    if (observer_) observer_->on_in_flight(facts(number), learner.begin, time());
  }
  if (observer_) observer_->on_finish(time());
  finished_ = true;
  segment_.end = End::finished;
  segment_due_ = true;
}

GradientFacts TimingPlane::facts(std::uint32_t number) const {
  const Learner& learner = learners_[number];
  return {learner.gradient, number, learner.version, learner.draws - 1, learner.plan};
}

std::vector<LearnerTotals> TimingPlane::learner_totals() const {
  std::vector<LearnerTotals> result;
  result.reserve(learners_.size());
  for (const auto& learner : learners_) {
    result.push_back(
        {learner.busy, learner.wasted, learner.applied, learner.draws - learner.computing});
  }
  return result;
}

double TimingPlane::progress() const {
  const Stop& stop = race_.stop;
  double done = 0;
  if (stop.time) done = std::max(done, time() / *stop.time);
  if (stop.updates)
    done =
        std::max(done, static_cast<double>(totals().updates) / static_cast<double>(*stop.updates));
  if (stop.gradients)
    done = std::max(done,
                    static_cast<double>(totals().applied) / static_cast<double>(*stop.gradients));
  if (stop.epochs) done = std::max(done, work_.epochs / *stop.epochs);
  return finished_ ? 1.0 : std::min(done, 1.0);
}

}  // namespace gradrace
