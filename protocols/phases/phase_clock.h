#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/phases/phase.h"

namespace gradrace {

/// What has been done, in the run or in a part of it.
struct Done {
  double gradients = 0, epochs = 0, updates = 0;

  Done operator-(const Done& other) const {
    return {gradients - other.gradients, epochs - other.epochs, updates - other.updates};
  }
  Done operator+(const Done& other) const {
    return {gradients + other.gradients, epochs + other.epochs, updates + other.updates};
  }
};

/// Which phase of `switch` has its turn, whether that is over, and when the loss is looked at.  The
/// next phase's protocol may run away from its turn, in the place of the one before it: what it
/// does there counts for no end.  Evaluations are ordered one at a time, so those that the protocol
/// asks for are kept here as well.
///
/// `done` and `now`: in the run, and its time.
class PhaseClock {
 public:
  static constexpr double never = Phase::Ends::never;

  explicit PhaseClock(const Phases& phases) : phases_(phases) {}

  std::size_t turn() const { return turn_; }
  std::size_t running() const { return running_; }
  bool is_away() const { return running_ != turn_; }
  /// Before the running protocol began.
  const Done& before() const { return before_; }

  /// It is that phase's turn.
  void begin(std::size_t phase, const Done& done) {
    turn_ = phase;
    began_ = done;
    elsewhere_ = {};
    ends_ = &phases_[phase].ends;
    policy_ = ends_->policy ? ends_->policy() : nullptr;
    judged_over_ = false;
  }
  /// Its protocol runs from now on, and has asked for no evaluation.
  void run(std::size_t phase, const Done& done, double now) {
    running_ = phase;
    before_ = done;
    protocol_look_ = own_look_ = never;
    if (!is_away()) begin_looks(now);
  }
  /// The turn is that of the phase that runs.
  void stay(const Done& done, double now) {
    begin(running_, done);
    begin_looks(now);
  }
  /// The protocol that is away stops.
  void come_back(const Done& done) { elsewhere_ = elsewhere_ + (done - before_); }

  /// By the running phase: since its turn began, or away since the turn before it began.
  Done made(const Done& done) const {
    return is_away() ? elsewhere_ + (done - before_) : done - began_ - elsewhere_;
  }
  /// What Server::follow() is to be told.
  std::uint16_t plan(const Done& done) const {
    const Done made = this->made(done);
    return phases_.plan(running_, static_cast<std::uint64_t>(made.updates),
                        static_cast<std::uint64_t>(made.gradients));
  }

  /// The protocol asks for an evaluation.
  void ask(double time) { protocol_look_ = time; }
  /// When one is due next.
  double next_look() const { return std::min(protocol_look_, own_look_); }
  /// Whether one made now is what the protocol asked for.
  bool answers(double now) {
    return std::exchange(protocol_look_, now < protocol_look_ ? protocol_look_ : never) <= now;
  }
  /// One was made now.
  void look(const Evaluation& evaluation, double now) {
    if (own_look_ > now) return;
    judged_over_ =
        judged_over_ || evaluation.loss <= ends_->loss || (policy_ && policy_->over(evaluation));
    own_look_ = looks_began_ + static_cast<double>(++looks_) * ends_->interval;
  }

  bool time_is_up(double now) const { return now >= ends_->time; }
  /// Whether one of the ends of the turn is met.
  bool is_over(const Done& done, double now) const {
    const Done its = done - elsewhere_;
    return judged_over_ || its.gradients >= ends_->gradients || its.epochs >= ends_->epochs ||
           its.updates >= ends_->updates || time_is_up(now);
  }

 private:
  /// The phase's own are made every interval.
  void begin_looks(double now) {
    looks_began_ = now;
    looks_ = 1;
    own_look_ = now + ends_->interval;
  }

  const Phases& phases_;
  std::size_t turn_ = 0, running_ = 0;
  Done began_, before_;  // the turn; the running protocol
  Done elsewhere_;       // in the turn, away from it, by protocols that have stopped

  const Phase::Ends* ends_ = nullptr;  // of the turn
  std::unique_ptr<SwitchPolicy> policy_;
  bool judged_over_ = false;  // by its policy, or the loss
  double looks_began_ = 0;
  std::uint64_t looks_ = 0;
  double protocol_look_ = never, own_look_ = never;  // next evaluation wanted
};

}  // namespace gradrace
