#include "sim/engine/machines.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/random.h"
#include "sim/run_error.h"

namespace gradrace {

Machines::Machines(const Failures& failures, std::uint64_t seed, std::uint32_t replica,
                   std::uint32_t learners, EventQueue& queue, std::uint32_t first_slot,
                   EventClass event_class, bool may_stay_away)
    : failures_(failures),
      seed_(seed),
      replica_(replica),
      queue_(queue),
      first_slot_(first_slot),
      event_class_(event_class),
      may_stay_away_(may_stay_away),
      machines_(learners) {}

void Machines::start() {
  for (const std::uint64_t learner : failures_.learners)
    schedule(static_cast<std::uint32_t>(learner), 0);
  if (!failures_.learners.empty()) return;
  for (std::uint32_t learner = 0; learner < machines_.size(); ++learner) schedule(learner, 0);
}

void Machines::change(std::uint32_t learner, double now) {
  if (++changes_ > 1'000'000 + 1'000 * machines_.size()) {
    throw RunError("learners failed " + std::to_string(changes_ / 2) + " times in a row and no " +
                   (failures_.checkpoint
                        ? "checkpoint was written: cluster.failures.up is too short for checkpoint"
                        : "gradient arrived: cluster.failures.up is too short for cluster.runtime, "
                          "or the protocol waits for nobody"));
  }
  Machine& machine = machines_[learner];
  machine.was_down = down(learner, now);
  machine.down = !machine.down;
  down_ = machine.down ? down_ + 1 : down_ - 1;
  machine.told = false;
  machine.changed = now;
  schedule(learner, now);
}

bool Machines::tells(std::uint32_t learner) {
  Machine& machine = machines_[learner];
  if (failures_.notice == 0 || machine.down || machine.told) return false;
  machine.told = true;
  queue_.schedule(first_slot_ + learner, machine.until, event_class_);
  return true;
}

void Machines::schedule(std::uint32_t learner, double now) {
  Machine& machine = machines_[learner];
  const auto& law = machine.down ? failures_.down : failures_.up;
  const Purpose purpose = machine.down ? Purpose::repair : Purpose::failure;
  const double length = law->draw({seed_, replica_, purpose, learner, machine.failures});
  if (machine.down) ++machine.failures;
  machine.until = (machine.down ? machine.until : now) + length;
  if (std::isinf(machine.until) && may_stay_away_) {
    gone_ += machine.down;
    return queue_.remove(first_slot_ + learner);
  }
  const double notice = machine.down ? 0 : failures_.notice;
  queue_.schedule(first_slot_ + learner, std::max(now, machine.until - notice), event_class_);
}

}  // namespace gradrace
