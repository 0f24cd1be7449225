#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/code_history.h"
#include "sim/engine/drawn_times.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/learner_totals.h"
#include "sim/engine/race.h"
#include "sim/engine/recipes.h"
#include "sim/engine/tape_writer.h"
#include "sim/engine/transit.h"
#include "sim/large_pages.h"
#include "sim/observer.h"

namespace gradrace {

/// What a learner has when it begins a minibatch.
struct Reading {
  ValueId value;
  std::uint32_t version;  // the value's age
  std::uint16_t plan;     // of the race, how the gradient is made
};

/// One clock, the pending events, P learners that compute one minibatch at a time, their draws, the
/// roads of gradients, and alarms.  It knows no model and no version.  An owner of values (a
/// parameter server; learners with values of their own) orders minibatches, each at a value, and is
/// told what next() returns:
///
///     arrival  a gradient is there and its learner idle: settle() it and order what follows
///     part     a shard of the server, taker(), has taken its part of the learner's gradient up
///     message  the learner's message leaves: send_off() it before the next event
///     loss     the learner failed and its gradient has ended
///     back     the learner is up again and a minibatch is due: resume() it
///     exchange  an event of that exchange between learners
///     timer, evaluation, look, end   that alarm
///
/// Checks: the clock is monotone; a learner computes one minibatch at a time; a gradient that
/// arrived is settled once.
class Engine {
 public:
  /// `followed`: P, or 0 where minibatches are no events.  `roads`: gradients may take more than
  /// computing, or the server be busy.  `exchanges`: of how many events are pending at most.  The
  /// observer may be null.
  Engine(const Race& race, std::uint32_t replica, std::uint32_t followed, bool roads,
         std::uint32_t exchanges, TapeWriter& tape, Observer* observer);

  double time() const { return time_; }
  std::uint32_t learners() const { return static_cast<std::uint32_t>(learners_.size()); }
  /// Learners between dispatch and arrival.
  std::uint32_t computing() const { return computing_; }
  bool is_computing(std::uint32_t learner) const { return learners_[learner].is_computing(); }
  /// What the learner computes, or computed last.
  const GradientFacts& gradient(std::uint32_t learner) const { return learners_[learner].gradient; }

  /// A gradient that will arrive soon; null: not known.
  const GradientFacts* arriving() const {
    const PendingEvent* const soon = queue_.soon();
    return soon && soon->slot < learners_.size() ? &learners_[soon->slot].gradient : nullptr;
  }

  /// When the learner's minibatch will have been computed.
  double due(std::uint32_t learner) const { return queue_.time(learner); }

  /// Of gradients whose code changes; null: there are none.
  CodeHistory* codes() { return codes_.get(); }

  /// For the events of exchanges, whose slots follow.
  EventQueue& queue() { return queue_; }
  std::uint32_t first_exchange() const { return first_exchange_; }

  /// When a minibatch ends that begins then and takes so long.  RunError where times like this
  /// leave the clock where it is.
  double end_of(double begin, double length) {
    const double end = begin + length;
    if (end == begin) note_standing(begin, length);
    return end;
  }

  void start();
  Happening next() {
    const auto event = queue_.next();
    if (queue_.has_coming()) fetch_coming();
    GRADRACE_CHECK(event.time < std::numeric_limits<double>::infinity(),
                   "nobody computes and nothing is due: the protocol stands still");
    GRADRACE_CHECK(event.time >= time_, "an event is in the past");
    time_ = event.time;
    if (event.event_class != EventClass::arrival) [[unlikely]]
      return ring(event.slot, event.event_class);
    if (transit_) [[unlikely]]
      return on_road(event.slot);
    arrive(learners_[event.slot]);
    return {Happening::Kind::arrival, event.slot};
  }

  /// That alarm (Kind::timer and what follows it) goes off then and not at the time it had;
  /// infinity: never.
  void set(Happening::Kind alarm, double time);

  /// When the first alarm goes off; infinity: none is set.
  double next_alarm() { return queue_.next().time; }
  /// Where minibatches are no events: the clock goes on, no further than to the next alarm.
  void advance(double time) {
    GRADRACE_CHECK(time >= time_, "an event is in the past");
    time_ = time;
  }

  /// The idle learner begins its next minibatch; false: it is down, and comes back to it.
  bool compute(std::uint32_t learner, const Reading& reading) {
    if (learner == arriving_) {
      arriving_ = nobody;
    } else {
      stop_waiting(learner);
    }
    return begin(learner, reading);
  }
  /// One that is back.
  bool resume(std::uint32_t learner, const Reading& reading) { return begin(learner, reading); }
  /// Every idle learner, in the order of their numbers; how many began.
  std::uint32_t compute_waiting(const Reading& reading);

  /// A message of so many bytes.
  void send_off(std::uint32_t learner, double bytes) {
    transit_->send_off(learner, race_.carried_bytes(bytes, race_.transit.network->model_bytes),
                       time_);
  }

  /// An update has so many bytes as it is sent back.
  void hear_back(double bytes) {
    transit_->hear_back(race_.carried_bytes(bytes, race_.transit.network->model_bytes));
  }
  /// Learners set off who waited for that.
  void go_on() {
    if (transit_) transit_->go_on(time_);
  }

  /// What becomes of a gradient that arrived.
  void settle(const GradientFacts& gradient, Ending ending) {
    Learner& learner = learners_[gradient.learner];
    GRADRACE_CHECK(learner.arrived == gradient.gradient,
                   "a gradient is accepted or dropped once, when it arrives");
    learner.arrived = none;
    end(gradient, ending);
  }
  /// All that follows from an arrival or the timer is ordered.
  void done(const Happening& happening) {
    if (happening.kind == Happening::Kind::arrival && !is_computing(happening.learner)) {
      queue_.remove(happening.learner);  // else its next event has the slot
      join_waiting();
    }
    if (transit_) [[unlikely]]
      transit_->take_next(time_);
  }
  void count_applied(std::uint32_t learner) { ++learners_[learner].applied; }

  /// The learner's minibatch ends where it is, on the road too, and the learner is idle.
  void cancel(std::uint32_t learner) {
    if (transit_) transit_->withdraw(learner);
    queue_.remove(learner);
    stop(learners_[learner]);
    wait(learner);
    end(learners_[learner].gradient, Ending::cancelled);
  }
  /// The same for all, and for minibatches that are due when learners are back; `cancelled` is told
  /// of each gradient.
  template <class Cancelled>
  void cancel_all(Cancelled cancelled) {
    queue_.expect(computing_);
    if (transit_) transit_->clear_roads(time_);
    for (std::uint32_t learner = 0; learner < learners(); ++learner) {
      if (transit_ && transit_->call_off(learner)) wait(learner);
      if (!is_computing(learner)) continue;
      cancel(learner);
      cancelled(learners_[learner].gradient);
    }
  }

  /// The learner fails, and what it computes is lost: whether there was something.  It is not idle
  /// before recover().
  bool fail(std::uint32_t number) {
    Learner& learner = learners_[number];
    const bool computed = learner.is_computing();
    if (computed) {
      queue_.remove(number);
      stop(learner);
      end(learner.gradient, Ending::lost);
    } else {
      stop_waiting(number);
      learner.place = Learner::down;
    }
    return computed;
  }
  void recover(std::uint32_t learner) { wait(learner); }
  /// Nothing will use a gradient that has arrived.
  void lose(const GradientFacts& gradient) { discard(gradient); }
  /// So many gradients of the learner that were applied are so no more; they took so long.
  void take_back(std::uint32_t learner, std::uint32_t gradients, double computed) {
    learners_[learner].applied -= gradients;
    wasted_[learner] += computed;
  }

  /// The server makes an update, or is busy for so long.
  void on_update(std::uint16_t plan) {
    if (transit_) transit_->on_update(plan, time_);
  }
  /// A shard of the server does, of those that have a version each.
  void on_update_of(std::uint32_t shard) { transit_->on_update_of(shard, time_); }
  /// The shard that took up the part of the last arrival or part.
  std::uint32_t taker() const { return transit_->taker(); }
  void pause(double length) {
    GRADRACE_CHECK(transit_, "a protocol pauses that does not say so");
    transit_->pause(time_, length);
  }

  /// The run is over: nothing is computed any more.  RunError where most of its minibatches took
  /// less than the clock can tell, or time never went on.
  void finish();
  /// The same of all that is told of it.
  void close() {
    if (observer_) observer_->on_finish(time_);
  }

  std::vector<LearnerTotals> learner_totals() const;
  Utilisation utilisation() const {
    return transit_ ? transit_->utilisation(time_) : Utilisation{};
  }
  const Recipes& recipes() const { return recipes_; }
  /// Learners around a server that are down now.
  std::uint32_t count_down() const { return transit_ ? transit_->count_down() : 0; }

 private:
  static constexpr auto none = std::numeric_limits<GradientId>::max();
  static constexpr auto nobody = std::numeric_limits<std::uint32_t>::max();

  /// What an event touches of a learner, in one cache line.
  struct alignas(64) Learner {
    GradientFacts gradient{};  // that it computes, or computed last
    double busy = 0;
    GradientId arrived = none;  // and is not settled
    std::uint32_t draws = 0;
    std::uint32_t applied = 0;
    std::uint32_t place = 0;  // in waiting_, while it is idle

    bool is_idle() const { return place < down; }
    bool is_computing() const { return place == computing; }

    /// In place of a place.
    static constexpr std::uint32_t computing = 0xffffffff, down = 0xfffffffe;
  };
  static_assert(sizeof(Learner) == 64);

  void fetch_coming();
  Happening on_road(std::uint32_t slot);
  Happening ring(std::uint32_t slot, EventClass event_class);
  [[gnu::always_inline]] bool begin(std::uint32_t number, const Reading& reading) {
    Learner& learner = learners_[number];
    if (transit_) [[unlikely]]
      return depart(learner, number, reading);
    take(learner, number, reading);
    const double length =
        drawn_ ? drawn_->time(number, learner.gradient.draw) : runtime(number, time_);
    queue_.schedule(number, end_of(time_, length), EventClass::arrival);
    if (observer_) [[unlikely]]
      observer_->on_dispatch(learner.gradient, time_);
    return true;
  }
  bool depart(Learner& learner, std::uint32_t number, const Reading& reading);
  /// The learner's next minibatch.
  void take(Learner& learner, std::uint32_t number, const Reading& reading) {
    const std::uint32_t draw = learner.draws;
    learner.draws += race_.local_steps;
    const std::uint16_t recipe = recipes_.of(reading.plan, number);
    learner.gradient = {tape_.gradient(reading.value, number, draw, recipe),
                        number,
                        reading.version,
                        draw,
                        reading.plan,
                        0,
                        time_};
    learner.place = Learner::computing;
    ++computing_;
  }
  /// Of its gradient, of one minibatch of it.
  double runtime(std::uint32_t learner, double begin);
  double runtime_of(std::uint32_t learner, std::uint32_t draw, double begin);
  void note_standing(double time, double length);
  [[noreturn]] void refuse_standing(std::uint64_t minibatches) const;

  void wait(std::uint32_t learner) {
    learners_[learner].place = static_cast<std::uint32_t>(waiting_.size());
    waiting_.push_back(learner);
  }
  void stop_waiting(std::uint32_t learner) {
    const std::uint32_t place = learners_[learner].place;
    GRADRACE_CHECK(place < waiting_.size(), "a learner computes one minibatch at a time");
    const std::uint32_t last = waiting_.back();
    waiting_[place] = last;
    learners_[last].place = place;
    waiting_.pop_back();
  }
  void arrive(Learner& learner) {
    stop(learner);
    learner.arrived = learner.gradient.gradient;
    arriving_ = learner.gradient.learner;
  }
  /// Whose gradient has just arrived, if nothing was ordered for it.
  void join_waiting() {
    if (arriving_ != nobody) wait(std::exchange(arriving_, nobody));
  }
  void stop(Learner& learner) {
    add_busy(learner);
    learner.place = Learner::down;
    --computing_;
  }
  void add_busy(Learner& learner) {
    GradientFacts& gradient = learner.gradient;
    gradient.computed = transit_ ? end_trip(gradient.learner) : time_ - gradient.begin;
    learner.busy += gradient.computed;
  }
  /// How long its gradient was computed.
  double end_trip(std::uint32_t learner);
  void discard(const GradientFacts& gradient) {
    wasted_[gradient.learner] += gradient.computed;
    tape_.die(gradient.gradient);
  }
  void end(const GradientFacts& gradient, Ending ending) {
    if (ending != Ending::accepted) discard(gradient);
    if (ending == Ending::dropped) ++dropped_[gradient.learner];
    if (observer_) observer_->on_end(gradient, gradient.begin, time_, ending);
  }

  const Race& race_;
  const std::uint32_t replica_;
  TapeWriter& tape_;
  const Recipes recipes_;
  Observer* const observer_;
  const std::unique_ptr<Runtimes> runtimes_;  // null: independent draws
  std::optional<DrawnTimes> drawn_;           // of those, where none is left out
  double time_ = 0;
  const std::uint32_t first_exchange_;
  EventQueue queue_;
  const std::unique_ptr<CodeHistory> codes_;
  std::unique_ptr<Transit> transit_;  // null: a gradient arrives when it is computed
  LargeVector<Learner> learners_;
  std::vector<double> wasted_;          // by the learners, on gradients cancelled, dropped or lost
  std::vector<std::uint32_t> dropped_;  // [learner]: gradients
  std::vector<std::uint32_t> waiting_;  // idle learners, but
  std::uint32_t arriving_ = nobody;     // the one whose gradient has just arrived
  std::uint32_t computing_ = 0;
  double stands_at_ = 0;         // the time of the last minibatch that ended as it began
  std::uint64_t standing_ = 0;   // those of that time
  std::uint64_t too_short_ = 0;  // those of the run that took more than no time
};

}  // namespace gradrace
