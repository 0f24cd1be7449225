#include "sim/engine/machines.h"

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
    throw RunError("learners failed " + std::to_string(changes_ / 2) +
                   " times in a row and no gradient arrived: cluster.failures.up is too short for "
                   "cluster.runtime, or the protocol waits for nobody");
  }
  Machine& machine = machines_[learner];
  machine.was_down = down(learner, now);
  machine.down = !machine.down;
  machine.changed = now;
  schedule(learner, now);
}

void Machines::schedule(std::uint32_t learner, double now) {
  Machine& machine = machines_[learner];
  const auto& law = machine.down ? failures_.down : failures_.up;
  const Purpose purpose = machine.down ? Purpose::repair : Purpose::failure;
  const double length = law->draw({seed_, replica_, purpose, learner, machine.failures});
  if (machine.down) ++machine.failures;
  if (std::isinf(now + length) && may_stay_away_) {
    gone_ += machine.down;
    return queue_.remove(first_slot_ + learner);
  }
  queue_.schedule(first_slot_ + learner, now + length, event_class_);
}

}  // namespace gradrace
