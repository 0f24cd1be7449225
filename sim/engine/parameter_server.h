#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
#include "sim/observer.h"
#include "sim/server_protocol.h"

namespace gradrace {

/// Owner of one chain of values: a model, and the orders of the protocol that it follows.  Its
/// version is the age of that model, the number of updates in it, and says nothing of the value's
/// id.
///
/// Checks after every call of the protocol: the books of the gradients add up.
class ParameterServer final : private Server, public Owner {
 public:
  /// All must outlive it; the observer may be null.
  ParameterServer(const Race& race, std::uint32_t replica, ServerProtocol& protocol, Engine& engine,
                  TapeWriter& tape, Observer* observer)
      : Owner(race, engine, tape), replica_(replica), protocol_(protocol), observer_(observer) {}

  void start() override;
  void on_arrival(std::uint32_t learner) override {
    const GradientFacts arrival = engine_.gradient(learner);  // its next one may begin meanwhile
    if (const GradientFacts* const soon = engine_.arriving())
      books_.prefetch(soon->version, EventQueue::places_ahead);
    protocol_.on_gradient(*this, arrival);
    check();
  }
  void on_message(std::uint32_t learner) override;
  void hear(std::span<const double> bytes) override;
  void on_loss(std::uint32_t learner) override;
  void on_return(std::uint32_t learner) override;
  void on_exchange(std::uint32_t) override { GRADRACE_CHECK(false, "a server has no exchanges"); }
  void on_timer() override;
  void on_evaluation(const Evaluation& evaluation) override;

  void evaluate(Evaluations& evaluations) override;
  std::span<const ValueId> live() override;

  const Totals& totals() const override { return books_.totals(); }
  const Work& work() const override { return work_; }
  std::span<const std::uint64_t> staleness_counts() const override {
    return books_.staleness_counts();
  }
  std::uint64_t outstanding_sum() const override { return books_.outstanding_sum(); }
  std::vector<LearnerTotals> learner_totals() const override;

 private:
  // Orders of the protocol.
  std::uint32_t learners() const override { return race_.learners; }
  std::uint32_t version() const override { return books_.version(); }
  std::uint32_t accepted() const override { return static_cast<std::uint32_t>(accepted_.size()); }
  double time() const override { return engine_.time(); }
  Stream random(std::uint32_t number) const override {
    return stream({race_.seed, replica_, Purpose::clients, 0, number});
  }
  void dispatch(std::uint32_t learner) override;
  void dispatch_waiting() override;
  void accept(const GradientFacts& arrival) override;
  void drop(const GradientFacts& arrival) override;
  void hold(const GradientFacts&) override { ++held_; }
  void release(const GradientFacts&) override { --held_; }
  const GradientFacts* computing(std::uint32_t learner) const override;
  void cancel(const GradientFacts& gradient) override;
  void cancel_all() override;
  void update() override;
  void apply(const GradientFacts& arrival) override;
  void pause(double length) override { engine_.pause(length); }
  void timer(double time) override { engine_.set(Happening::Kind::timer, time); }
  void evaluate_at(double time) override { engine_.set(Happening::Kind::look, time); }
  void follow(std::uint16_t plan) override;

  /// What a learner that makes local steps begins with: a value, and their rate.
  struct Read {
    ValueId value = 0;
    double rate = 0;
  };
  void note_read(std::uint32_t learner) { reads_[learner] = {value_, eta(0, 1)}; }

  Reading reading() const { return {value_, version(), race_.plan_at(plan_, version())}; }

  // Of the update that is being made.
  /// The gradient's staleness.
  std::uint32_t take_up(const GradientFacts& gradient) {
    engine_.count_applied(gradient.learner);
    if (!unused_.empty()) [[unlikely]]
      unused_[gradient.learner].use(time());
    return books_.apply(gradient.version);
  }
  /// The gradient has arrived, which its learner makes a message of.
  void send(const GradientFacts& gradient, bool lost);
  Sent message_of(const GradientFacts& gradient, bool lost) const;
  /// Of minibatches that begin now, by one learner or all that are idle.
  void note_rate(std::uint32_t learner) { dispatch_rates_[learner] = eta(0, protocol_.k()); }
  void note_rates();
  /// After each accepted gradient's use, those of its learner's other steps.
  void add_local_steps();
  void add_local_steps(const GradientFacts& sent, const Read& read);
  void make_version() {
    const std::uint16_t plan = race_.plan_at(plan_, version());
    value_ = tape_.update(value_, plan, uses_);
    books_.update(engine_.computing() + held_, time());
    ++changes_;
    engine_.on_update(plan);
  }
  void tell_update(double iteration_time) const;

  void check() const { books_.check(engine_.computing() + held_ + accepted_.size()); }

  const std::uint32_t replica_;
  ServerProtocol& protocol_;
  Observer* const observer_;

  ValueId value_ = 0;  // of the model
  std::vector<GradientFacts> accepted_;
  std::vector<Read> reads_;           // [learner], where they make local steps; else none, nor of
  std::vector<Read> accepted_reads_;  // those that are accepted
  std::uint32_t held_ = 0;

  /// For how long no gradient of a learner is used.
  struct Unused {
    double since = 0, longest = 0;
    void use(double now) {
      longest = std::max(longest, now - since);
      since = now;
    }
  };
  std::vector<Unused> unused_;  // [learner], where staleness is bounded; else none
  std::vector<Use> uses_;       // of an update; kept for its memory, as are the next
  std::vector<Use> firsts_;     // of accepted gradients, where learners make local steps
  std::vector<ValueId> live_;
  const bool has_messages_ = tape_.taped() && race_.has_messages();
  const bool asks_ = has_messages_ && race_.asks_for_bytes();  // for their bytes
  std::uint32_t sending_ = 0;           // the learner whose message's bytes are asked for
  std::vector<double> dispatch_rates_;  // [learner], where messages are of steps; else none
  Books books_;
};

}  // namespace gradrace
