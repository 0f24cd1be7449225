#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/distribution.h"
#include "sim/engine/event_queue.h"

namespace gradrace {

/// Learners that fail and come back: they are up and down in turns, for times drawn from these
/// laws.  What a learner pulls, computes, pushes or exchanges when it fails is lost.
///
/// With a server it begins again when it is back, at the version of then.
struct Failures {
  std::shared_ptr<const Distribution> up, down;
  std::vector<std::uint64_t> learners = {};  // that fail; empty: all
  double reform = 0;  // without a server: before an exchange begins again that lost a member
};

/// Which learners are up.  The times come from streams of their own, so that nothing that learners
/// do changes them.
class Machines {
 public:
  /// The event of learner i has slot `first_slot` + i and that class.  The failures and the queue
  /// must outlive it.  A time that is infinite is RunError or, where a learner `may_stay_away`,
  /// never over.
  Machines(const Failures& failures, std::uint64_t seed, std::uint32_t replica,
           std::uint32_t learners, EventQueue& queue, std::uint32_t first_slot,
           EventClass event_class, bool may_stay_away = false);

  /// The time of the first failures is drawn.
  void start();

  /// The learner's event: it fails, or comes back.  RunError where learners have failed again and
  /// again and note_progress() was never called.
  void change(std::uint32_t learner, double now);
  /// A gradient has arrived.
  void note_progress() { changes_ = 0; }

  bool is_down(std::uint32_t learner) const { return machines_[learner].down; }
  /// Whether some learner is up, or comes back.
  bool is_any_left() const { return gone_ < machines_.size(); }
  /// For how long it has been.
  double down(std::uint32_t learner, double now) const {
    const Machine& machine = machines_[learner];
    return machine.down ? machine.was_down + (now - machine.changed) : machine.was_down;
  }

 private:
  struct Machine {
    double changed = 0;          // when it went down, or came back
    double was_down = 0;         // until then
    std::uint32_t failures = 0;  // that are over
    bool down = false;
  };

  void schedule(std::uint32_t learner, double now);

  const Failures& failures_;
  const std::uint64_t seed_;
  const std::uint32_t replica_;
  EventQueue& queue_;
  const std::uint32_t first_slot_;
  const EventClass event_class_;
  const bool may_stay_away_;
  std::size_t gone_ = 0;           // for ever
  std::vector<Machine> machines_;  // of the learners
  std::uint64_t changes_ = 0;      // from up to down and back since there was progress
};

}  // namespace gradrace
