#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocols/phases/phase_clock.h"

namespace gradrace {

/// The learners as a phase's protocol is to see them: sees the update that ends the phase, and
/// starts no minibatch and no exchange after it.  Evaluations are ordered with those of the phase's
/// own looks.
class PhasePeers final : public Peers {
 public:
  explicit PhasePeers(PhaseClock& clock) : clock_(clock) {}

  /// Those of this call.
  void stand_before(Peers& peers) {
    peers_ = &peers;
    unused_.resize(peers.learners());
    under_way_.resize(peers.learners());
  }
  Peers& peers() const { return *peers_; }
  /// A protocol begins.
  void open() {
    over_ = false;
    timer_ = PhaseClock::never;
  }
  bool is_over() const { return over_; }
  /// Nothing that has begun is under way.
  bool are_idle() const { return computing_ == 0 && exchanging_ == 0; }
  /// In the run.
  Done done() const {
    const Work& work = peers_->work();
    return {static_cast<double>(work.gradients), work.epochs,
            static_cast<double>(peers_->updates())};
  }

  void saw(const GradientFacts& arrival) {
    --computing_;
    unused_[arrival.learner] = arrival;
  }
  void saw_end_of(std::uint32_t exchange) {
    under_way_[exchange] = false;
    --exchanging_;
  }
  /// At a timer: whether it is the protocol's.
  bool rings() {
    if (over_) return false;
    for (const std::uint32_t learner : waiting_) peers_->compute(learner);
    computing_ += waiting_.size();
    waiting_.clear();
    if (timer_ <= time()) {
      timer_ = PhaseClock::never;
      return true;
    }
    peers_->timer(timer_);
    return false;
  }
  /// Orders the next evaluation.
  void look() { peers_->evaluate_at(clock_.next_look()); }
  /// Gradients that the protocol has not used move their learners' values.
  void step_by_unused() {
    for (auto& gradient : unused_)
      if (gradient) peers_->step(*std::exchange(gradient, {}));
  }

  std::uint32_t learners() const override { return peers_->learners(); }
  double time() const override { return peers_->time(); }
  const Work& work() const override { return peers_->work(); }
  std::uint64_t updates() const override { return peers_->updates(); }
  std::uint32_t per_node() const override { return peers_->per_node(); }
  std::span<const std::uint32_t> present() const override { return peers_->present(); }
  void compute(std::uint32_t learner, std::uint64_t step) override {
    peers_->compute(learner, step);
  }
  /// After all arrivals of the instant, one of which may end the phase.
  void compute(std::uint32_t learner) override {
    if (over_) return;
    waiting_.push_back(learner);
    peers_->timer(time());
  }
  void compute_all() override {
    if (over_) return;
    computing_ += learners();
    peers_->compute_all();
  }
  const GradientFacts* computing(std::uint32_t learner) const override {
    return peers_->computing(learner);
  }
  double due(std::uint32_t learner) const override {
    return computing(learner) ? peers_->due(learner) : time();
  }
  ValueId value(std::uint32_t learner) const override { return peers_->value(learner); }
  void set(std::uint32_t learner, ValueId value) override { peers_->set(learner, value); }
  double rate() const override { return peers_->rate(); }
  /// Choices are numbered from 0 in every phase, and are no more than the gradients before it.
  Stream random(std::uint32_t learner, std::uint32_t number) const override {
    return peers_->random(learner, static_cast<std::uint32_t>(clock_.before().gradients) + number);
  }
  void step(const GradientFacts& gradient) override {
    const std::uint64_t updates = peers_->updates();
    peers_->step(gradient);
    moved({&gradient, 1}, updates);
  }
  void skip(std::uint32_t learner, std::uint32_t steps) override { peers_->skip(learner, steps); }
  void step_all(std::span<const GradientFacts> gradients) override {
    const std::uint64_t updates = peers_->updates();
    peers_->step_all(gradients);
    moved(gradients, updates);
  }
  ValueId average(ValueId base, std::span<const Term> terms) override {
    return peers_->average(base, terms);
  }
  void average(std::span<const std::uint32_t> members, std::span<const Term> terms,
               MomentumState state) override {
    peers_->average(members, terms, state);
  }
  void average_sent(std::span<const std::uint32_t> members, ValueId base,
                    MomentumState state) override {
    peers_->average_sent(members, base, state);
  }
  bool makes_messages() const override { return peers_->makes_messages(); }
  ValueId move(ValueId base, std::span<const Term> terms) override {
    return peers_->move(base, terms);
  }
  void move(std::span<const std::uint32_t> members, std::span<const Term> terms) override {
    peers_->move(members, terms);
  }
  std::uint32_t collective(std::span<const std::uint32_t> members, double share,
                           Payload payload) override {
    return over_ ? spare_ : begun(peers_->collective(members, share, payload));
  }
  std::uint32_t pair(std::uint32_t a, std::uint32_t b, std::optional<double> time,
                     double share) override {
    return over_ ? spare_ : begun(peers_->pair(a, b, time, share));
  }
  std::uint32_t gossip(std::uint32_t learner, std::span<const std::uint32_t> hears,
                       std::span<const std::uint32_t> heard_by, double share) override {
    return over_ ? spare_ : begun(peers_->gossip(learner, hears, heard_by, share));
  }
  std::uint32_t message(std::uint32_t learner, Towards towards) override {
    return over_ ? spare_ : begun(peers_->message(learner, towards));
  }
  std::span<const std::uint32_t> members(std::uint32_t exchange) const override {
    return peers_->members(exchange);
  }
  bool exchanging(std::uint32_t learner) const override { return peers_->exchanging(learner); }
  void count_conflict(std::uint32_t learner) override { peers_->count_conflict(learner); }
  void count_outer_update(std::uint32_t staleness) override {
    peers_->count_outer_update(staleness);
  }
  void timer(double time) override {
    timer_ = time;
    if (!over_ && waiting_.empty()) peers_->timer(time);
  }
  void evaluate_at(double time) override {
    clock_.ask(time);
    if (!over_) look();
  }
  void follow(std::uint16_t) override {}
  void deadlock(std::span<const std::uint32_t> circle) override { peers_->deadlock(circle); }

 private:
  /// Values have moved by these gradients; so many updates had been made before.
  void moved(std::span<const GradientFacts> gradients, std::uint64_t updates) {
    for (const GradientFacts& gradient : gradients) unused_[gradient.learner].reset();
    peers_->follow(clock_.plan(done()));
    if (over_ || peers_->updates() == updates || !clock_.is_over(done(), time())) return;
    over_ = true;
    waiting_.clear();
    const auto free = std::ranges::find(under_way_, false);
    spare_ = static_cast<std::uint32_t>(free - under_way_.begin());
  }

  std::uint32_t begun(std::uint32_t exchange) {
    under_way_[exchange] = true;
    ++exchanging_;
    return exchange;
  }

  PhaseClock& clock_;
  Peers* peers_ = nullptr;
  bool over_ = false;  // by its last update

  std::vector<std::uint32_t> waiting_;  // learners that begin a minibatch later in this instant
  double timer_ = PhaseClock::never;    // of the protocol

  std::size_t computing_ = 0, exchanging_ = 0;        // learners; exchanges
  std::vector<std::optional<GradientFacts>> unused_;  // [learner]: arrived, and moved no value yet
  std::vector<bool> under_way_;                       // [exchange]
  std::uint32_t spare_ = 0;  // the number of no exchange, once the phase is over
};

}  // namespace gradrace
