#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "protocols/phases/phase_clock.h"
#include "protocols/phases/taking_part.h"
#include "sim/server_filter.h"

namespace gradrace {

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
