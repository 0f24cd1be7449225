#include "sim/engine/peer_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "sim/message_text.h"

namespace gradrace {

PeerValues::PeerValues(const Race& race, std::uint32_t replica, PeerProtocol& protocol,
                       Engine& engine, TapeWriter& tape, Observer* observer)
    : Owner(race, engine, tape),
      replica_(replica),
      protocol_(&protocol),
      observer_(observer),
      network_(race.peers ? &*race.peers : nullptr),
      exchanges_(network_, race.learners, engine.queue(), engine.first_exchange()),
      members_(race.learners),
      under_way_(observer ? race.learners : 0),
      heard_(observer || race.transit.failures ? race.learners : 0),
      coded_(asks_ ? race.learners : 0),
      peers_(race.learners),
      present_(everyone(race.learners)),
      begins_alone_(protocol.traits().begins_alone),
      steps_(race.learners) {
  if (network_ && network_->communicator_setup > 0) communicators_.emplace(*network_);
  if (!race.transit.failures) return;
  machines_.emplace(*race.transit.failures, race.seed, replica, race.learners, engine.queue(),
                    engine.first_exchange() + race.learners, EventClass::exchange, true);
  orders_.resize(race.learners);
  hearers_.resize(race.learners);
  exchange_of_.resize(race.learners);
  unused_.resize(race.learners);
}

void PeerValues::start() {
  if (machines_) machines_->start();
  if (race_.transit.failures && race_.transit.failures->checkpoint) use_checkpoints();
  protocol_->start(*this);
}

void PeerValues::on_arrival(std::uint32_t learner) {
  Peer& peer = peers_[learner];
  clock(peer);
  peer.computing = false;
  const GradientFacts arrival = engine_.gradient(learner);
  engine_.settle(arrival, Ending::accepted);
  if (machines_) [[unlikely]]
    note_arrival(arrival);
  protocol_->on_gradient(*this, arrival);
}

void PeerValues::on_loss(std::uint32_t) {
  GRADRACE_CHECK(false, "learners without a server have no roads to lose gradients on");
}
void PeerValues::on_return(std::uint32_t learner) { on_loss(learner); }

void PeerValues::on_exchange(std::uint32_t exchange) {
  if (exchange >= race_.learners) [[unlikely]]
    return on_machine(exchange - race_.learners);
  if (!exchanges_.on_event(exchange, time())) return;
  end_exchange(exchange);
  if (machines_) [[unlikely]] {
    leave_those_free();
    if (orders_[exchange].kind == ExchangeKind::copy) return come_back(members_[exchange][0]);
  }
  protocol_->on_exchange(*this, exchange);
}

void PeerValues::finish() {
  finished_ = true;
  const std::vector<LearnerTotals> totals = engine_.learner_totals();
  double sent = 0, received = 0;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    clock(peers_[i]);
    sent += peers_[i].totals.sent;
    received += peers_[i].totals.received;
    const ExchangeTotals& its = peers_[i].totals;
    const double idle = its.communicating + its.waiting + its.encoding + its.down;
    GRADRACE_CHECK(std::abs(totals[i].busy - peers_[i].behind + idle - time()) <= 1e-9 * time(),
                   "computing, waiting, communicating, encoding and down add up to the clock");
  }
  GRADRACE_CHECK(std::abs(sent - received - at_coordinator_) <= 1e-9 * sent,
                 "bytes that are sent are received");
  if (!observer_) return;
  for (std::uint32_t exchange = 0; exchange < under_way_.size(); ++exchange)
    if (!under_way_[exchange].members.empty()) tell(exchange);
}

std::uint32_t PeerValues::per_node() const {
  return network_ && network_->per_node > 0 ? network_->per_node : race_.learners;
}

[[gnu::flatten]] void PeerValues::compute(std::uint32_t learner) {
  Peer& peer = peers_[learner];
  clock(peer);
  if (peer.presence != Presence::present) [[unlikely]]
    admit(learner);
  if (machines_ && !begins(learner)) [[unlikely]]
    return;
  peer.computing = true;
  engine_.compute(learner, {peer.value, peer.age, race_.plan_at(plan_, updates())});
  ++totals_.dispatched;
}

void PeerValues::compute_all() {
  engine_.queue().expect(race_.learners);
  if (machines_) [[unlikely]]
    return compute_those_left();
  for (std::uint32_t learner = 0; learner < race_.learners; ++learner) compute(learner);
}

const GradientFacts* PeerValues::computing(std::uint32_t learner) const {
  return engine_.is_computing(learner) ? &engine_.gradient(learner) : nullptr;
}

void PeerValues::change(Peer& peer, ValueId value) {
  peer.value = value;
  ++peer.age;
  ++changes_;
}

void PeerValues::set(std::uint32_t learner, ValueId value) {
  if (value == average_) averager_ = learner;
  change(peers_[learner], value);
}

/// One of so many gradients whose mean moves a value; in which it counts as one of `like_it`.
Use PeerValues::use(const GradientFacts& gradient, std::uint32_t gradients, double like_it) {
  const std::uint32_t staleness = peers_[gradient.learner].age - gradient.version;
  ++totals_.applied;
  totals_.staleness_sum += staleness;
  totals_.max_staleness = std::max(totals_.max_staleness, staleness);
  if (staleness >= staleness_counts_.size()) staleness_counts_.resize(staleness + 1);
  ++staleness_counts_[staleness];
  engine_.count_applied(gradient.learner);
  if (machines_) [[unlikely]]
    note_use(gradient);
  return {gradient.gradient, staleness,
          tape_.taped() ? eta(staleness, gradients) / like_it : not_known};
}

void PeerValues::step(const GradientFacts& gradient) {
  Peer& peer = peers_[gradient.learner];
  const Use moved = use(gradient, 1);
  change(peer, tape_.update(peer.value, race_.plan_at(plan_, updates()), {&moved, 1}));
  GradientFacts used = gradient;
  used.staleness = moved.staleness;
  count({&used, 1});
}

void PeerValues::skip(std::uint32_t learner, std::uint32_t steps) {
  steps_.skip(learner, steps);
  make_updates();
}

/// Its minibatch is said to take no longer, and is computed that much after its end.
void PeerValues::clock_held(Peer& peer, double passed) {
  if (peer.held) {
    peer.totals.communicating += passed;
    if (peer.computing) peer.behind += passed;
    return;
  }
  const double computed = peer.computing ? passed : std::min(passed, peer.behind);
  if (!peer.computing) peer.behind -= computed;
  if (peer.exchanging) peer.totals.hidden += computed;
  (peer.exchanging ? peer.totals.communicating : peer.totals.waiting) += passed - computed;
}

/// So much of the time that passed in an exchange.
void PeerValues::clock_coding(Peer& peer, double coding, double passed) {
  peer.totals.encoding += coding;
  peer.totals.communicating += passed - coding;
}

/// It has been sent to all, one of so many that move their value.
void PeerValues::send(const GradientFacts& gradient, std::uint32_t gradients) {
  const Message& message = race_.plans[gradient.plan].message;
  const double weight = message.of_steps() ? eta(0, gradients) : 1;
  tape_.send(gradient.learner, race_.dual || message.memory,
             {gradient.gradient, false, weight, gradient.plan});
}

void PeerValues::step_all(std::span<const GradientFacts> gradients) {
  uses_.clear();
  used_.assign(gradients.begin(), gradients.end());
  const auto together = static_cast<std::uint32_t>(gradients.size());
  const double parts = parts_of(gradients);
  for (const GradientFacts& gradient : gradients) {
    GRADRACE_CHECK(peers_[gradient.learner].value == peers_[gradients[0].learner].value,
                   "learners that step together hold one value");
    const double like_it = parts / part_of(gradient);
    uses_.push_back(use(gradient, together, like_it));
    used_[uses_.size() - 1].staleness = uses_.back().staleness;
    if (!has_messages_) continue;
    const Plan& made = race_.plans[gradient.plan];
    const auto& compressor = made.message.compressor;
    if (!race_.dual && (!compressor || compressor->joint())) continue;
    if (!asks_) send(gradient, together);
    if (made.message.of_steps()) uses_.back().weight = 1 / like_it;
  }
  const ValueId next =
      tape_.update(peers_[gradients[0].learner].value, race_.plan_at(plan_, updates()), uses_);
  for (const GradientFacts& gradient : gradients)
    if (peers_[gradient.learner].value != next) change(peers_[gradient.learner], next);
  count(used_);
}

/// The work of gradients that have moved values, and the updates that they complete.
void PeerValues::count(std::span<const GradientFacts> gradients) {
  if (observer_)
    for (const GradientFacts& gradient : gradients) observer_->on_step(gradient);
  std::uint64_t samples = 0;
  for (const GradientFacts& gradient : gradients) samples += samples_of(gradient);
  count_work(gradients.size(), samples);
  const bool at_once = gradients.size() >= race_.learners || protocol_->k() == 1 ||
                       (machines_ && protocol_->traits().one_value);
  if (at_once) return update(gradients);
  for (const GradientFacts& gradient : gradients) {
    const std::uint64_t number = steps_.step(gradient.learner);
    if (!observer_) continue;
    const std::uint64_t ahead = number - steps_.all();
    if (ahead > made_.size()) made_.resize(ahead);
    made_[ahead - 1].push_back(gradient);
  }
  if (steps_.has_next()) make_updates();
}

/// Those whose steps all are beyond, and some have made.
void PeerValues::make_updates() {
  while (const std::optional<bool> is_made = steps_.next()) {
    std::vector<GradientFacts> made;
    if (observer_ && !made_.empty()) made = std::move(made_.front()), made_.pop_front();
    if (*is_made) update(made);
  }
}

void PeerValues::update(std::span<const GradientFacts> gradients) {
  ++totals_.updates;
  const double before = std::exchange(totals_.last_update_time, time());
  if (!observer_) return;
  observer_->on_update({totals_.updates, time(), time() - before,
                        eta(0, protocol_->gradients_of_step()), gradients});
}

ValueId PeerValues::average(ValueId base, std::span<const Term> terms) {
  return sum(base, terms, Summed::parameters);
}

ValueId PeerValues::move(ValueId base, std::span<const Term> terms) {
  return sum(base, terms, Summed::learnt);
}

ValueId PeerValues::sum(ValueId base, std::span<const Term> terms, Summed summed) {
  terms_.clear();
  for (const Term& term : terms)
    if (term.weight != 0) terms_.push_back(term);
  TapeWriter::check_weights(terms_);
  const bool stateful = plan().stateful;
  const ValueId first = terms_[0].value;
  const bool agree =
      std::ranges::all_of(terms_, [&](const Term& term) { return term.value == first; });
  if (agree && first == base) return first;
  if (summed == Summed::learnt) return tape_.average(base, terms_, summed);
  if (agree && (summed == Summed::whole || !stateful)) return first;
  const auto same = [](const Term& one, const Term& other) {
    return one.value == other.value && one.weight == other.weight;
  };
  if (!stateful && peers_[averager_].value == average_ &&
      std::ranges::equal(terms_, averaged_, same)) {
    return average_;
  }
  averaged_ = terms_;
  return average_ = tape_.average(base, terms_, summed);
}

void PeerValues::average(std::span<const std::uint32_t> members, std::span<const Term> terms,
                         MomentumState state) {
  const bool stateful = plan().stateful;
  const bool each = stateful && state == MomentumState::kept;
  const bool reset = stateful && state == MomentumState::reset;
  const bool whole = stateful && state == MomentumState::averaged;
  const Summed summed = whole ? Summed::whole : Summed::parameters;
  ValueId result = 0;
  for (const std::uint32_t learner : members) {
    if (each || learner == members[0])
      result = sum(reset ? 0 : peers_[learner].value, terms, summed);
    change(peers_[learner], result);
  }
}

void PeerValues::average_sent(std::span<const std::uint32_t> members, ValueId base,
                              MomentumState state) {
  const Message& message = plan().message;
  if (!tape_.taped() || !message.compressor) return Peers::average(members, state);
  read_.clear();
  const double weight = 1.0 / static_cast<double>(members.size());
  const bool joint = message.compressor->joint();
  for (const std::uint32_t learner : members) {
    const ValueId value = peers_[learner].value;
    read_.push_back({joint   ? value
                     : asks_ ? std::exchange(coded_[learner].value, no_value)
                             : send_model(learner, value, base),
                     weight});
  }
  if (joint) {
    const ValueId mean = sum(peers_[members[0]].value, read_, Summed::parameters);
    read_ = {{send_model(members[0], mean, base), 1}};
  }
  average(members, read_, state);
}

ValueId PeerValues::send_model(std::uint32_t learner, ValueId value, ValueId base) {
  const Message& message = plan().message;
  return tape_.send_model(base, value, learner, message.memory || message.compressor->carried() > 0,
                          peers_[learner].sent++, race_.plan_at(plan_, updates()));
}

void PeerValues::send_models(std::span<const std::uint32_t> members, ValueId base) {
  if (!asks(Payload::messages)) return;
  for (const std::uint32_t learner : members)
    coded_[learner].value = send_model(learner, peers_[learner].value, base);
}

/// A collective of messages, which begins when their bytes are heard; of gradients the first of
/// its parts has them made.
std::uint32_t PeerValues::ask(Some members, double share) {
  sent_share_ = share;
  const auto gradient_of = [this](std::uint32_t learner) { return engine_.gradient(learner); };
  if (coded_[members[0]].gradient == gradient_of(members[0]).gradient) return begin_coded(members);
  sending_.assign(members.begin(), members.end());
  for (const std::uint32_t learner : members) {
    coded_[learner].gradient = gradient_of(learner).gradient;
    if (coded_[learner].value == no_value)
      send(gradient_of(learner), static_cast<std::uint32_t>(members.size()));
  }
  asked_ = static_cast<std::uint32_t>(members.size());
  tape_.want_answers();
  return exchanges_.next();
}

void PeerValues::hear(std::span<const double> bytes) {
  asked_ = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    coded_[sending_[i]].bytes = race_.carried_bytes(bytes[i], model_bytes());
  begin_coded(sending_);
}

std::uint32_t PeerValues::begin_coded(Some members) {
  double most = 0;
  for (const std::uint32_t learner : members) most = std::max(most, coded_[learner].bytes);
  return begin({ExchangeKind::collective, sent_share_ * most, Payload::messages}, members, {}, {});
}

/// Around a ring of messages of unequal bytes the longest one goes as far as the others.  A learner
/// sends all but that of the next one in the ring.
void PeerValues::load_coded(const Order& order, Some members) {
  PeerNetwork network = network_for(order.payload);
  std::vector<std::uint32_t> in_order;
  if (!network.ring.empty()) {
    in_order.assign(members.begin(), members.end());
    std::ranges::sort(in_order, {}, [&](std::uint32_t learner) { return network.ring[learner]; });
    members = in_order;
  }
  const double even = sent_share_ * bytes_of(order.payload);  // to which times of a byte belong
  network.making *= even / order.bytes, network.reading *= even / order.bytes;
  transfer_ = collective_transfer(network, members, order.bytes, std::move(transfer_));
  if (communicators_) transfer_.latency += communicators_->use(members);
  double all = 0;
  for (const std::uint32_t learner : members) all += coded_[learner].bytes;
  const auto count = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t place = 0; place < count; ++place) {
    const double own = coded_[members[place]].bytes,
                 next = coded_[members[(place + 1) % count]].bytes;
    carry(members[place], {sent_share_ * (all - next), sent_share_ * (all - own), count - 1.0});
  }
}

void PeerValues::move(std::span<const std::uint32_t> members, std::span<const Term> terms) {
  ValueId base = 0, result = 0;
  for (const std::uint32_t learner : members) {
    const ValueId own = peers_[learner].value;
    if (own != base || learner == members[0]) result = sum(own, terms, Summed::learnt);
    base = own;
    change(peers_[learner], result);
  }
}

/// What it asks of the links is transfer_, and what passes is counted.  Inlined, as is begin_now(),
/// where the kind is known.
[[gnu::always_inline]] inline void PeerValues::load(const Order& order, Some members, Some hears,
                                                    Some heard_by) {
  const double bytes = order.bytes;
  const auto count = static_cast<std::uint32_t>(members.size());
  if (order.kind == ExchangeKind::collective && count > 1) {
    if (asks(order.payload)) [[unlikely]]
      return load_coded(order, members);
    const PeerNetwork& network = network_for(order.payload);
    const bool is_half = order.payload == Payload::activations;
    transfer_ = collective_transfer(network, members, bytes, std::move(transfer_));
    if (is_half) [[unlikely]]
      transfer_ = half_of(std::move(transfer_));
    if (communicators_) transfer_.latency += communicators_->use(members);
    for (std::uint32_t place = 0; place < count; ++place) {
      Traffic traffic = collective_traffic(network.collective, count, place, bytes);
      traffic.messages *= network.rounds;
      carry(members[place], is_half ? half_of(traffic) : traffic);
    }
  } else if (order.kind == ExchangeKind::pair && count > 1) {
    transfer_ = pair_transfer(*network_, members[0], members[1], bytes, std::move(transfer_));
    for (const std::uint32_t learner : members) carry(learner, neighbour_traffic(1, bytes));
  } else if (order.kind == ExchangeKind::push || order.kind == ExchangeKind::pull) {
    const bool up = order.kind == ExchangeKind::push;
    transfer_ =
        coordinator_transfer(*network_, members[0], up ? Towards::coordinator : Towards::learner,
                             bytes, std::move(transfer_));
    carry(members[0], up ? Traffic{.sent = bytes, .messages = 1} : Traffic{.received = bytes});
    at_coordinator_ += up ? bytes : -bytes;
  } else if (!hears.empty()) {
    transfer_ =
        neighbour_transfer(*network_, members[0], hears, heard_by, bytes, std::move(transfer_));
    if (order.kind == ExchangeKind::copy) {
      carry(members[0], {.received = bytes});
      carry(hears[0], {.sent = bytes, .messages = 1});
    } else {
      carry(members[0], neighbour_traffic(static_cast<std::uint32_t>(hears.size()), bytes));
    }
  }
}

void PeerValues::carry(std::uint32_t learner, const Traffic& traffic) {
  ExchangeTotals& totals = peers_[learner].totals;
  totals.sent += traffic.sent;
  totals.received += traffic.received;
  totals.messages += traffic.messages;
}

[[gnu::always_inline]] inline std::uint32_t PeerValues::begin_now(const Order& order, Some members,
                                                                  Some hears, Some heard_by,
                                                                  double delay) {
  transfer_ = {};
  if (network_) load(order, members, hears, heard_by);
  if (order.time && members.size() > 1) transfer_ = {.latency = *order.time};
  transfer_.latency += delay;
  for (const std::uint32_t learner : members) {
    Peer& peer = peers_[learner];
    GRADRACE_CHECK(!peer.exchanging, "a learner is in one exchange at a time");
    clock(peer);
    peer.exchanging = true;
    peer.held = order.payload == Payload::activations;
    peer.was_held |= peer.held;
    peer.coded = time() + transfer_.coding;
  }
  const std::uint32_t number = exchanges_.begin(transfer_, time());
  members_[number].assign(members.begin(), members.end());
  if (machines_) [[unlikely]]
    note_order(number, order, hears, heard_by);
  if (!heard_.empty()) heard_[number].assign(hears.begin(), hears.end());
  if (observer_) {
    under_way_[number] = {order.kind,  members_[number], heard_[number],
                          order.bytes, begun_++,         time()};
  }
  return number;
}

std::uint32_t PeerValues::begin(const Order& order, Some members, Some hears, Some heard_by,
                                double delay) {
  return begin_now(order, members, hears, heard_by, delay);
}

std::uint32_t PeerValues::collective(std::span<const std::uint32_t> members, double share,
                                     Payload payload) {
  if (asks(payload)) return ask(members, share);
  return begin_now({ExchangeKind::collective, share * bytes_of(payload), payload}, members, {}, {},
                   0);
}

std::uint32_t PeerValues::pair(std::uint32_t a, std::uint32_t b, std::optional<double> time,
                               double share) {
  const std::uint32_t members[] = {std::min(a, b), std::max(a, b)};
  return begin_now({ExchangeKind::pair, share * model_bytes(), Payload::models, time}, members, {},
                   {}, 0);
}

std::uint32_t PeerValues::gossip(std::uint32_t learner, std::span<const std::uint32_t> hears,
                                 std::span<const std::uint32_t> heard_by, double share) {
  return begin_now({ExchangeKind::gossip, share * model_bytes()}, {&learner, 1}, hears, heard_by,
                   0);
}

std::uint32_t PeerValues::message(std::uint32_t learner, Towards towards) {
  const bool up = towards == Towards::coordinator;
  return begin_now({up ? ExchangeKind::push : ExchangeKind::pull, model_bytes()}, {&learner, 1}, {},
                   {}, 0);
}

void PeerValues::count_outer_update(std::uint32_t staleness) {
  ++outer_.updates;
  outer_.staleness_sum += staleness;
  outer_.max_staleness = std::max(outer_.max_staleness, staleness);
}

void PeerValues::follow(std::uint16_t plan) {
  GRADRACE_CHECK(plan < race_.plans.size(), "the race has no such plan");
  plan_ = plan;
}

void PeerValues::tell(std::uint32_t exchange) {
  under_way_[exchange].end = time();
  observer_->on_exchange(under_way_[exchange]);
  under_way_[exchange].members = {};
}

void PeerValues::deadlock(std::span<const std::uint32_t> circle) {
  standstill_ =
      "at time " + short_number(time(), 17) + " learners wait for each other in a circle:";
  for (const std::uint32_t learner : circle) standstill_ += " " + std::to_string(learner);
}

/// The mean of the learners' values, if the protocol names no other or their averages are looked
/// at; these are terms_ then.  One that all of them hold is its own mean.  Where nobody is left it
/// is the initial model.
ValueId PeerValues::evaluated() {
  terms_.clear();
  if (present_.empty()) {
    terms_.push_back({0, 1});
    return 0;
  }
  const ValueId first = peers_[present_[0]].value;
  bool agree = true;
  for (const std::uint32_t learner : present_) {
    const ValueId value = peers_[learner].value;
    agree = agree && value == first;
    terms_.push_back({value, 1.0 / static_cast<double>(present_.size())});
  }
  const std::optional<ValueId> other = protocol_->evaluated();
  if (other && plan().rule.ema == 0) return *other;
  return agree ? first
               : tape_.average(first, terms_, plan().stateful ? Summed::whole : Summed::parameters);
}

void PeerValues::evaluate(Evaluations& evaluations) {
  evaluations.add(point(protocol_->gradients_of_step(), protocol_->k()), changes_);
  const ValueId looked_at = evaluated();
  tape_.evaluate(looked_at, terms_);
  for (std::uint32_t learner = 0; learner < race_.learners_evaluated(); ++learner)
    tape_.evaluate(peers_[learner].value);
}

/// Each value once, those of the learners in their order.
std::span<const ValueId> PeerValues::live() {
  live_.clear();
  for (const Peer& peer : peers_) live_.push_back(peer.value);
  for (const Coded& coded : coded_)
    if (coded.value != no_value && !finished_) live_.push_back(coded.value);
  if (!finished_) {
    if (machines_) live_.push_back(0);  // at which they begin anew
    if (restarts_) hold_checkpoint();
    protocol_->hold(live_);
  }
  std::vector<std::uint32_t> order(live_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto id = [this](std::uint32_t place) { return live_[place]; };
  std::ranges::stable_sort(order, {}, id);
  const auto same = [&](std::uint32_t a, std::uint32_t b) { return id(a) == id(b); };
  order.erase(std::unique(order.begin(), order.end(), same), order.end());
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) live_[i] = live_[order[i]];
  live_.resize(order.size());
  return live_;
}

std::vector<LearnerTotals> PeerValues::learner_totals() const {
  std::vector<LearnerTotals> result = engine_.learner_totals();
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].exchanged = peers_[i].totals;
    result[i].busy -= peers_[i].behind;
  }
  return result;
}

}  // namespace gradrace
