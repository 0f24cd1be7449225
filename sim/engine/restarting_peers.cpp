#include <algorithm>
#include <utility>

#include "sim/engine/peer_values.h"
#include "sim/message_text.h"

namespace gradrace {

void PeerValues::use_checkpoints() {
  restarts_ = std::make_unique<Restarts>(
      Restarts{.rule = *race_.transit.failures->checkpoint, .steps = steps_});
  restarts_->unsaved.resize(race_.learners);
}

void PeerValues::note_unsaved(const GradientFacts& gradient) {
  auto& [gradients, computed] = restarts_->unsaved[gradient.learner];
  ++gradients;
  computed += gradient.computed;
}

void PeerValues::hold_checkpoint() {
  live_.insert(live_.end(), restarts_->values.begin(), restarts_->values.end());
  if (restarts_->saved) restarts_->saved->hold(live_);
}

/// All are idle, to begin a step or a round: whether they wait, for a checkpoint that is written or
/// one that will fail and leaves.
bool PeerValues::pauses() {
  Restarts& its = *restarts_;
  if (!its.saved) save();  // that of the start is there
  bool told = false;
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner) {
    if (!machines_->is_told(learner)) continue;
    told = true;
    if (its.is_saved(totals_)) machines_->leave(learner, time());
  }
  if (its.is_saved(totals_)) return told;
  if (!told && time() - its.since < its.rule.every) return false;
  its.stage = Restarts::Stage::writes;
  engine_.queue().schedule(engine_.first_exchange() + 2 * race_.learners, time() + its.rule.cost,
                           EventClass::exchange);
  return true;
}

void PeerValues::save() {
  Restarts& its = *restarts_;
  its.saved = protocol_->copy();
  its.values.clear();
  for (const Peer& peer : peers_) its.values.push_back(peer.value);
  its.steps = steps_;
  its.work = work_;
  its.totals = totals_;
  its.staleness_counts = staleness_counts_;
  its.since = time();
  std::ranges::fill(its.unsaved, std::pair(0u, 0.0));
  machines_->note_progress();
}

/// A checkpoint has been written, or all are there to go on from it.
void PeerValues::restart() {
  Restarts& its = *restarts_;
  if (std::exchange(its.stage, Restarts::Stage::runs) == Restarts::Stage::writes) {
    save();
  } else {
    its.since = time();
    its.protocol = its.saved->copy();
    protocol_ = its.protocol.get();
    for (std::uint32_t learner = 0; learner < race_.learners; ++learner) engine_.recover(learner);
  }
  compute_all();
}

/// The learner has failed, or come back.
void PeerValues::stop_all(std::uint32_t learner) {
  using enum Restarts::Stage;
  Restarts& its = *restarts_;
  const bool down = machines_->is_down(learner),
             stood = its.stage == stands || its.stage == reforms;
  peers_[learner].presence = down ? Presence::down : Presence::present;
  its.down = down ? its.down + 1 : its.down - 1;
  if (!stood) go_back();
  if (machines_->is_any_gone())
    standstill_ = "at time " + short_number(time(), 17) + " learner " + std::to_string(learner) +
                  " fails and does not come back, and the others wait for it";
  const std::uint32_t slot = engine_.first_exchange() + 2 * race_.learners;
  its.stage = its.down > 0 ? stands : reforms;
  if (its.down > 0) return engine_.queue().remove(slot);
  engine_.queue().schedule(slot, time() + race_.transit.failures->reform, EventClass::exchange);
}

/// All have what the checkpoint has.
void PeerValues::go_back() {
  Restarts& its = *restarts_;
  if (peers_[0].exchanging) {
    const std::uint32_t exchange = exchange_of_[0];
    end_exchange(exchange);
    exchanges_.call_off(exchange, time());
  }
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner) {
    clock(peers_[learner]);
    lose_gradients(learner);
    auto& [gradients, computed] = its.unsaved[learner];
    engine_.take_back(learner, gradients, computed);
    gradients = 0, computed = 0;
    change(peers_[learner], its.values[learner]);
  }
  const Totals made = std::exchange(totals_, its.totals);
  totals_.dispatched = made.dispatched;
  totals_.lost = made.lost + (made.applied - totals_.applied);
  losses_.taken_back += made.applied - totals_.applied;
  staleness_counts_ = its.staleness_counts;
  work_ = its.work;
  steps_ = its.steps;
  made_.clear();
}

}  // namespace gradrace
