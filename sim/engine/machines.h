#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  bool tells_costs = false;                  // in columns of their own

  // Without a server.
  double reform = 0;  // before an exchange begins again that lost a member, or all go on
  double notice = 0;  // time for which a learner knows that it will fail
  /// All stop where one fails, until all are up, and go back to the last that is written: when all
  /// begin a step or a round, `every` after the last one, or after they went on from it.
  struct Checkpoint {
    double every = 1, cost = 0;
  };
  std::optional<Checkpoint> checkpoint = {};  // empty: the others go on
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

  /// The learner's event: true where it is told that it will fail.
  bool tells(std::uint32_t learner);
  /// Else it fails, or comes back.  RunError where learners have failed again and again and
  /// note_progress() was never called.
  void change(std::uint32_t learner, double now);
  /// It has been told, and fails now, to come back as if it failed later.
  void leave(std::uint32_t learner, double now) {
    queue_.schedule(first_slot_ + learner, now, event_class_);
  }
  /// It has been told, and would leave; it fails when it was to fail.
  bool may_stay(std::uint32_t learner, double now) const { return now < machines_[learner].until; }
  void stay(std::uint32_t learner) {
    queue_.schedule(first_slot_ + learner, machines_[learner].until, event_class_);
  }
  /// A gradient has arrived or, where all go back to checkpoints, one was written.
  void note_progress() { changes_ = 0; }

  /// Learners that are down now.
  std::uint32_t count_down() const { return down_; }
  bool is_down(std::uint32_t learner) const { return machines_[learner].down; }
  /// It is up, and has been told.
  bool is_told(std::uint32_t learner) const { return machines_[learner].told; }
  /// Whether some learner is up, or comes back.
  bool is_any_left() const { return gone_ < machines_.size(); }
  bool is_any_gone() const { return gone_ > 0; }
  /// For how long it has been.
  double down(std::uint32_t learner, double now) const {
    const Machine& machine = machines_[learner];
    return machine.down ? machine.was_down + (now - machine.changed) : machine.was_down;
  }

 private:
  struct Machine {
    double changed = 0;          // when it went down, or came back
    double was_down = 0;         // until then
    double until = 0;            // when it fails or comes back next
    std::uint32_t failures = 0;  // that are over
    bool down = false, told = false;
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
  std::uint32_t down_ = 0;         // now
  std::vector<Machine> machines_;  // of the learners
  std::uint64_t changes_ = 0;      // from up to down and back since there was progress
};

}  // namespace gradrace
