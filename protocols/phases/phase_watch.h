#pragma once

#include <algorithm>
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

/// Watches a phase of `switch` for its end.  Evaluations are ordered one at a time, so it keeps
/// those that the phase's protocol asks for as well.
class PhaseWatch {
 public:
  static constexpr double never = Phase::Ends::never;

  /// That is the phase whose end is looked for.
  void begin(const Phase& phase) {
    ends_ = &phase.ends;
    policy_ = ends_->policy ? ends_->policy() : nullptr;
    judged_over_ = false;
  }

  /// A protocol begins, which has asked for no evaluation.  `own`: it is that of the phase.
  void begin_looks(double now, bool own) {
    protocol_look_ = own_look_ = never;
    if (own) begin_own_looks(now);
  }
  /// The phase's own looks are made every interval from now on.
  void begin_own_looks(double now) {
    began_ = now;
    looks_ = 1;
    own_look_ = began_ + ends_->interval;
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
    own_look_ = began_ + static_cast<double>(++looks_) * ends_->interval;
  }

  bool time_is_up(double now) const { return now >= ends_->time; }

  /// Whether one of its ends is met.
  bool over(const Done& done, double now) const {
    return judged_over_ || done.gradients >= ends_->gradients || done.epochs >= ends_->epochs ||
           done.updates >= ends_->updates || time_is_up(now);
  }

 private:
  const Phase::Ends* ends_ = nullptr;
  std::unique_ptr<SwitchPolicy> policy_;
  bool judged_over_ = false;  // by its policy, or the loss
  double began_ = 0;
  std::uint64_t looks_ = 0;
  double protocol_look_ = never, own_look_ = never;  // next evaluation wanted
};

}  // namespace gradrace
