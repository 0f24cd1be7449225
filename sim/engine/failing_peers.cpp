#include <algorithm>
#include <limits>
#include <utility>

#include "sim/engine/peer_values.h"
#include "sim/message_text.h"

namespace gradrace {

static bool has(std::span<const std::uint32_t> some, std::uint32_t learner) {
  return std::ranges::find(some, learner) != some.end();
}

/// The learner fails or comes back.
void PeerValues::on_machine(std::uint32_t learner) {
  if (learner == race_.learners) return restart();
  if (machines_->tells(learner)) return;
  if (has(leaving_, learner) && machines_->may_stay(learner, time()) && !is_free(learner))
    return machines_->stay(learner);
  clock(peers_[learner]);
  machines_->change(learner, time());
  if (restarts_) return stop_all(learner);
  machines_->is_down(learner) ? fail(learner) : copy(learner);
  leave_those_free();
  if (present_.empty()) begin_anew();
}

void PeerValues::fail(std::uint32_t learner) {
  Peer& peer = peers_[learner];
  const Presence before = peer.presence;
  std::erase(leaving_, learner);
  if (before == Presence::present) {
    present_.erase(std::ranges::lower_bound(present_, learner));
    lose_gradients(learner);
  }
  peer.presence = Presence::down;
  peer.value = 0;
  leave_exchanges(learner);
  if (before != Presence::present) return;
  steps_.leave(learner);
  ++changes_;  // of their mean
  if (present_.empty()) return;
  make_updates();
  protocol_->on_leave(*this, learner);
}

/// What it computes, and what has moved no value.
void PeerValues::lose_gradients(std::uint32_t learner) {
  peers_[learner].computing = false;
  const bool computed = engine_.fail(learner);
  totals_.lost += computed + unused_[learner].size();
  losses_.computing += computed;
  losses_.unused += unused_[learner].size();
  for (const GradientFacts& gradient : unused_[learner]) engine_.lose(gradient);
  unused_[learner].clear();
}

/// It begins its next step, if it does not know that it will fail.
bool PeerValues::begins(std::uint32_t learner) {
  if (!leaves(learner)) return true;
  if (!has(leaving_, learner)) leaving_.push_back(learner);
  leave_those_free();
  return false;
}

/// It would lose nothing.
bool PeerValues::is_free(std::uint32_t learner) const {
  const auto hears = [&](const auto& heard) { return has(heard, learner); };
  return unused_[learner].empty() && !peers_[learner].exchanging &&
         (hearing_ == 0 || std::ranges::none_of(heard_, hears));
}

void PeerValues::leave_those_free() {
  for (const std::uint32_t learner : leaving_)
    if (is_free(learner)) machines_->leave(learner, time());
}

void PeerValues::note_arrival(const GradientFacts& gradient) {
  if (!restarts_) machines_->note_progress();
  unused_[gradient.learner].push_back(gradient);
}

void PeerValues::note_use(const GradientFacts& gradient) {
  if (restarts_) note_unsaved(gradient);
  std::erase_if(unused_[gradient.learner], [&](const GradientFacts& arrived) {
    return arrived.gradient == gradient.gradient;
  });
  leave_those_free();
}

void PeerValues::note_order(std::uint32_t exchange, const Order& order, Some hears, Some hearers) {
  for (const std::uint32_t learner : members_[exchange]) exchange_of_[learner] = exchange;
  orders_[exchange] = order;
  hearers_[exchange].assign(hearers.begin(), hearers.end());
  hearing_ += !hears.empty();
}

void PeerValues::leave_exchanges(std::uint32_t learner) {
  if (peers_[learner].exchanging) go_on_without(exchange_of_[learner], learner);
  for (std::uint32_t exchange = 0; hearing_ > 0 && exchange < heard_.size(); ++exchange)
    if (has(heard_[exchange], learner)) go_on_without(exchange, learner);
}

/// Those who are present or back begin, but for one that knows that it will fail: it leaves now.
void PeerValues::compute_those_left() {
  if (restarts_ && pauses()) return;
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner) {
    const bool present = is_present(learner);
    if (!machines_->is_told(learner)) {
      if (present || peers_[learner].presence == Presence::back) compute(learner);
    } else if (present) {
      machines_->leave(learner, time());
    }
  }
}

/// It begins again, with those who are left.
void PeerValues::go_on_without(std::uint32_t exchange, std::uint32_t learner) {
  std::vector<std::uint32_t> members = members_[exchange], hears = heard_[exchange],
                             hearers = std::move(hearers_[exchange]);
  end_exchange(exchange);
  exchanges_.call_off(exchange, time());
  for (auto* const some : {&members, &hears, &hearers}) std::erase(*some, learner);
  if (members.empty()) return;
  const Order order = orders_[exchange];
  if (order.kind == ExchangeKind::copy) return copy(members[0]);
  const std::uint32_t again = begin(order, members, hears, hearers, race_.transit.failures->reform);
  GRADRACE_CHECK(again == exchange, "an exchange that begins again keeps its number");
}

/// The lowest-numbered of those who are present and its neighbours or, if there is none, present.
std::uint32_t PeerValues::source_of(std::uint32_t learner) const {
  for (const std::uint32_t other : protocol_->neighbours(learner))
    if (is_present(other)) return other;
  return present_[0];
}

/// A learner that is up again gets a value, if somebody has one.
void PeerValues::copy(std::uint32_t learner) {
  peers_[learner].presence = Presence::copying;
  if (present_.empty()) return;
  const std::uint32_t source = peers_[learner].source = source_of(learner);
  begin({ExchangeKind::copy, model_bytes()}, {&learner, 1}, {&source, 1}, {});
}

void PeerValues::come_back(std::uint32_t learner) {
  Peer& peer = peers_[learner];
  peer.presence = Presence::back;
  peer.value = peers_[peer.source].value;
  protocol_->on_return(*this, learner);
}

void PeerValues::compute(std::uint32_t learner, std::uint64_t step) {
  admit(learner, step);
  compute(learner);
}

void PeerValues::admit(std::uint32_t learner, std::optional<std::uint64_t> step) {
  Peer& peer = peers_[learner];
  GRADRACE_CHECK(peer.presence == Presence::back, "a learner that is down or copies computes");
  std::uint64_t steps = steps_.all();
  if (!present_.empty()) {
    const std::uint32_t source = is_present(peer.source) ? peer.source : source_of(learner);
    change(peer, peers_[source].value);
    steps = steps_.of(source);
  }
  if (step) steps = first_step_ + *step;
  peer.presence = Presence::present;
  present_.insert(std::ranges::lower_bound(present_, learner), learner);
  steps_.join(learner, steps);
  engine_.recover(learner);
}

/// Nobody is left.  Those who have a copy begin anew, at that of the lowest-numbered of them, which
/// the others copy who are up; if none has one, those do, at the initial model.  Who knows that it
/// will fail leaves.
void PeerValues::begin_anew() {
  constexpr double never = std::numeric_limits<double>::infinity();
  engine_.set(Happening::Kind::timer, never);
  engine_.set(Happening::Kind::look, never);
  for (std::uint32_t learner = 0; learner < peers_.size(); ++learner)
    if (machines_->is_told(learner)) machines_->leave(learner, time());
  const auto first = [this](Presence presence) {
    std::uint32_t learner = 0;
    while (learner < peers_.size() &&
           (peers_[learner].presence != presence || machines_->is_told(learner)))
      ++learner;
    return learner;
  };
  const std::uint32_t back = first(Presence::back);
  const bool has_copy = back < peers_.size();
  const ValueId value = has_copy ? peers_[back].value : 0;
  if (!has_copy && first(Presence::copying) == peers_.size()) {
    if (!machines_->is_any_left())
      standstill_ = "at time " + short_number(time(), 17) +
                    " all learners are down, and none of them comes back";
    return;
  }
  made_.clear();
  first_step_ = steps_.all();
  for (std::uint32_t learner = 0; learner < peers_.size(); ++learner) {
    Peer& peer = peers_[learner];
    peer.value = value;
    if (peer.presence == Presence::copying && !has_copy) peer.presence = Presence::back;
  }
  ++changes_;
  protocol_->start(*this);
  for (std::uint32_t learner = 0; learner < peers_.size(); ++learner) {
    if (is_present(learner)) continue;
    protocol_->on_leave(*this, learner);
    if (peers_[learner].presence == Presence::copying && !machines_->is_told(learner))
      copy(learner);
    if (peers_[learner].presence == Presence::down) peers_[learner].value = 0;
  }
}

}  // namespace gradrace
