#include "sim/engine/engine.h"

#include <algorithm>
#include <limits>

#include "sim/message_text.h"
#include "sim/run_error.h"

namespace gradrace {

namespace {

using Kind = Happening::Kind;

constexpr auto first_alarm = static_cast<std::uint32_t>(Kind::timer);
constexpr std::uint32_t alarms = static_cast<std::uint32_t>(Kind::end) - first_alarm + 1;

constexpr EventClass class_of(Kind alarm) {
  if (alarm == Kind::timer) return EventClass::timer;
  return alarm == Kind::end ? EventClass::end : EventClass::evaluation;
}

}  // namespace

static double numbers_carried(const Race& race) {
  return race.transit.network ? race.transit.network->model_bytes / sizeof(float) : 0;
}

/// [plan], between a learner and a server; asks: bytes that vary are asked for.
static std::vector<Carriage> carried(const Race& race, bool asks) {
  const double full = race.transit.network ? race.transit.network->model_bytes : 0;
  std::vector<Carriage> carried;
  for (const Plan& plan : race.plans) {
    carried.push_back({.down = full, .up = plan.bytes_of_message(full)});
    carried.back().coded = plan.message.compressor != nullptr;
    carried.back().asked = asks && plan.message.compressor && plan.message.compressor->bytes_vary();
    carried.back().making_up = plan.encoding;
    carried.back().reading_up = plan.decoding;
    if (!plan.rule.back) continue;
    carried.back().sends_back = true;
    carried.back().back_asked = asks && plan.rule.back->compressor->bytes_vary();
    carried.back().back = plan.rule.back->compressor->bytes(full / sizeof(float));
    carried.back().making_back = plan.encoding;
    carried.back().reading_back = plan.decoding;
  }
  return carried;
}

Engine::Engine(const Race& race, std::uint32_t replica, std::uint32_t followed, bool roads,
               std::uint32_t exchanges, TapeWriter& tape, Observer* observer)
    : race_(race),
      replica_(replica),
      tape_(tape),
      recipes_(race.plans),
      observer_(observer),
      runtimes_(race.make_runtimes ? race.make_runtimes(race.seed, replica) : nullptr),
      first_exchange_(followed + alarms +
                      (roads ? Transit::slots(race.transit, race.learners) : 0)),
      queue_(first_exchange_ + exchanges),
      codes_(race.codes ? std::make_unique<CodeHistory>(*race.codes, numbers_carried(race))
                        : nullptr),
      learners_(followed),
      wasted_(followed),
      dropped_(followed) {
  if (!runtimes_ && !roads && learners() > 0 && race.local_steps == 1)
    drawn_.emplace(*race.runtime, race.seed, replica, learners());
  waiting_.reserve(learners());
  for (std::uint32_t learner = 0; learner < learners(); ++learner) wait(learner);
  if (!roads) return;
  transit_ = std::make_unique<Transit>(
      race.transit, carried(race, race.coded_numbers > 0 && tape.taped()), codes_.get(),
      race.learners, race.seed, replica, queue_, race.learners + alarms,
      [this](std::uint32_t learner, double begin) {
        const double length = runtime(learner, begin);
        end_of(begin, length);
        return length;
      });
}

void Engine::start() {
  if (observer_) observer_->on_start();
  if (transit_) transit_->start();
}

void Engine::fetch_coming() {
  for (const PendingEvent& soon : queue_.coming()) {
    if (soon.slot >= learners_.size()) continue;
    __builtin_prefetch(&learners_[soon.slot], 1);
    if (drawn_) drawn_->prefetch(soon.slot);
    if (transit_) transit_->prefetch(soon.slot);
  }
}

Happening Engine::on_road(std::uint32_t slot) {
  const Happening happening = transit_->on_event(slot, time_);
  if (happening.kind == Kind::arrival) arrive(learners_[happening.learner]);
  if (happening.kind == Kind::loss) fail(happening.learner);
  return happening;
}

Happening Engine::ring(std::uint32_t slot, EventClass event_class) {
  if (event_class == EventClass::exchange) {
    queue_.remove(slot);
    return {Kind::exchange, slot - first_exchange_};
  }
  const auto alarm = static_cast<Kind>(first_alarm + slot - learners());
  queue_.remove(slot);
  return alarm == Kind::timer && transit_ ? transit_->on_timer(time_) : Happening{alarm};
}

void Engine::set(Kind alarm, double time) {
  GRADRACE_CHECK(time >= time_, "an alarm is set in the past");
  if (alarm == Kind::timer && transit_) transit_->forget_timer(time_);
  const std::uint32_t slot = learners() + static_cast<std::uint32_t>(alarm) - first_alarm;
  if (time < std::numeric_limits<double>::infinity()) {
    queue_.schedule(slot, time, class_of(alarm));
  } else {
    queue_.remove(slot);
  }
}

std::uint32_t Engine::compute_waiting(const Reading& reading) {
  join_waiting();
  queue_.expect(static_cast<std::uint32_t>(waiting_.size()));
  std::uint32_t began = 0;
  if (waiting_.size() > learners_.size() / 8) {
    for (std::uint32_t learner = 0; learner < learners(); ++learner) {
      if (learners_[learner].is_idle()) began += begin(learner, reading);
    }
  } else {
    std::sort(waiting_.begin(), waiting_.end());
    for (const auto learner : waiting_) began += begin(learner, reading);
  }
  waiting_.clear();
  return began;
}

bool Engine::depart(Learner& learner, std::uint32_t number, const Reading& reading) {
  learner.place = Learner::down;
  if (transit_->postpone(number)) return false;
  take(learner, number, reading);
  const std::uint32_t gradient = learner.gradient.draw / race_.local_steps;
  transit_->depart(number, gradient, reading.version, reading.plan, time_);
  if (transit_->waits()) tape_.want_answers();
  if (observer_) observer_->on_dispatch(learner.gradient, time_);
  return true;
}

double Engine::end_trip(std::uint32_t learner) {
  const TripFacts trip = transit_->end(learner, time_);
  if (observer_) observer_->on_trip(trip);
  return trip.computed;
}

double Engine::runtime(std::uint32_t number, double begin) {
  const GradientFacts& gradient = learners_[number].gradient;
  double length = 0;
  for (std::uint32_t step = 0; step < race_.local_steps; ++step)
    length += runtime_of(number, gradient.draw + step, begin + length);
  return length + race_.plans[gradient.plan].encoding;
}

double Engine::runtime_of(std::uint32_t number, std::uint32_t draw, double begin) {
  const Plan& plan = race_.plans[learners_[number].gradient.plan];
  if (runtimes_) return runtimes_->duration(number, draw, begin, plan.minibatch[number]);
  Stream words = stream({race_.seed, replica_, Purpose::runtime, number, draw});
  return race_.runtime->sample(words);
}

void Engine::note_standing(double time, double length) {
  if (time != stands_at_) standing_ = 0;
  stands_at_ = time;
  too_short_ += length > 0;
  const std::uint64_t many = 1'000'000 + std::uint64_t{1000} * race_.learners;
  if (++standing_ > many) refuse_standing(standing_);
}

void Engine::refuse_standing(std::uint64_t minibatches) const {
  throw RunError("simulated time stands still at " + short_number(time_) + ": of " +
                 std::to_string(tape_.gradients()) + " minibatches " + std::to_string(minibatches) +
                 " took no time, or less than can be told from it; times of the cluster are too "
                 "short, or one is too long beside the others");
}

void Engine::finish() {
  const std::uint64_t begun = tape_.gradients();
  if (too_short_ > begun / 2) refuse_standing(too_short_);
  if (time_ == 0 && standing_ > 0) refuse_standing(standing_);
  if (time_ > 0 && time_ < std::numeric_limits<double>::min())
    throw RunError("simulated time underflows: it ends at " + short_number(time_) +
                   ", and numbers below 2.2e-308 lose their digits; times of the cluster are too "
                   "short");
  for (auto& learner : learners_) {
    if (!learner.is_computing()) continue;
    add_busy(learner);
    if (observer_) observer_->on_in_flight(learner.gradient, learner.gradient.begin, time_);
  }
}

std::vector<LearnerTotals> Engine::learner_totals() const {
  std::vector<LearnerTotals> result;
  result.reserve(learners_.size());
  for (std::size_t i = 0; i < learners_.size(); ++i) {
    const Learner& learner = learners_[i];
    LearnerTotals totals{learner.busy, wasted_[i], learner.applied,
                         learner.draws - learner.is_computing() * race_.local_steps, dropped_[i]};
    if (transit_) totals.exchanged = transit_->exchanged(static_cast<std::uint32_t>(i), time_);
    totals.wait_until(time_);
    result.push_back(totals);
  }
  return result;
}

}  // namespace gradrace
