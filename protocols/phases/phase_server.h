#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/phases/phase_clock.h"
#include "protocols/policies/straggler_policy.h"
#include "sim/gradient_facts.h"
#include "sim/server_filter.h"

namespace gradrace {

/// The learners of a phase of `switch`: who is slow for a while, and who takes part in updates.
class TakingPart {
 public:
  /// A phase begins: all take part.
  void begin(const StragglerPolicyProduct& policy, std::uint32_t learners) {
    detector_.reset();
    if (policy) detector_.emplace(policy->detector, learners);
    const bool leaves = policy && policy->answer == StragglerPolicy::Answer::leave_out;
    left_out_.assign(leaves ? learners : 0, false);
    count_ = learners;
  }

  void saw(const GradientFacts& arrival) {
    if (detector_) detector_->saw(arrival.learner, arrival.computed);
  }

  bool any_straggler() const { return detector_ && detector_->any(); }
  /// Whether the next phase's protocol is to run.
  bool flees() const { return any_straggler() && !may_leave_out(); }

  bool may_leave_out() const { return !left_out_.empty(); }
  bool leaves_out(std::uint32_t learner) const { return may_leave_out() && left_out_[learner]; }
  std::uint32_t count() const { return count_; }

  /// All who take part are idle: stragglers leave, but not the last, and who is none any more comes
  /// back.  That is found when its gradient arrives, so it is idle too.
  void choose() {
    for (std::uint32_t learner = 0; learner < left_out_.size(); ++learner) {
      const bool before = left_out_[learner];
      const bool now = detector_->is_straggler(learner) && (before || count_ > 1);
      if (before && !now) ++count_;
      if (now && !before) --count_;
      left_out_[learner] = now;
    }
  }

 private:
  std::optional<StragglerDetector> detector_;
  std::vector<bool> left_out_;  // [learner]; empty: all take part whatever they are
  std::uint32_t count_ = 0;
};

/// The server as a phase's protocol is to see it: tells of every update, and once that ends the
/// phase lets through no order that begins anything.  Evaluations are ordered with those of the
/// phase's own looks.
class PhaseServer final : public ServerFilter {
 public:
  /// `updated` is told of each update, by its number of gradients; true: the phase is over.
  PhaseServer(PhaseClock& clock, const TakingPart& learners,
              std::function<bool(std::uint32_t)> updated)
      : clock_(clock), learners_(learners), updated_(std::move(updated)) {}

  /// A protocol begins.
  void open() { over_ = false; }
  bool is_over() const { return over_; }
  /// In the run.
  Done done() const {
    const Work& work = server().work();
    return {static_cast<double>(work.gradients), work.epochs, static_cast<double>(version())};
  }
  /// Orders the next evaluation, if there is one.
  void look() {
    if (clock_.next_look() < PhaseClock::never) server().evaluate_at(clock_.next_look());
  }

  std::uint32_t learners() const override { return learners_.count(); }
  void update() override {
    const std::uint32_t gradients = server().accepted();
    server().update();
    over_ = updated_(gradients);
  }
  void evaluate_at(double time) override {
    clock_.ask(time);
    look();
  }
  void follow(std::uint16_t) override {}

  void dispatch(std::uint32_t learner) override {
    if (!over_) server().dispatch(learner);
  }
  void dispatch_waiting() override {
    if (!over_) server().dispatch_waiting();
  }
  void cancel(const GradientFacts& gradient) override {
    if (!over_) server().cancel(gradient);
  }
  void cancel_all() override {
    if (!over_) server().cancel_all();
  }
  void pause(double length) override {
    if (!over_) server().pause(length);
  }
  void timer(double time) override {
    if (!over_) server().timer(time);
  }

 private:
  PhaseClock& clock_;
  const TakingPart& learners_;
  const std::function<bool(std::uint32_t)> updated_;
  bool over_ = false;  // by its last update
};

}  // namespace gradrace
