#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/communicators.h"
#include "sim/engine/engine.h"
#include "sim/engine/exchanges.h"
#include "sim/engine/machines.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/restarts.h"
#include "sim/engine/step_count.h"
#include "sim/engine/tape_writer.h"
#include "sim/observer.h"
#include "sim/peer_protocol.h"

namespace gradrace {

/// Owner of a chain of values for each learner, and the orders of the protocol that they follow.
///
/// Checks: computing, waiting, communicating, encoding and down add up to the clock, for each
/// learner.
class PeerValues final : public Owner, private Peers {
 public:
  /// All must outlive it; the observer may be null.
  PeerValues(const Race& race, std::uint32_t replica, PeerProtocol& protocol, Engine& engine,
             TapeWriter& tape, Observer* observer);

  /// Events that it may have pending at once: Engine's `exchanges`.
  static std::uint32_t events(const Race& race) {
    const auto& failures = race.transit.failures;
    return (failures ? 2 : 1) * race.learners + (failures && failures->checkpoint);
  }

  void start() override;
  void on_arrival(std::uint32_t learner) override;
  void on_loss(std::uint32_t learner) override;
  void on_return(std::uint32_t learner) override;
  void on_exchange(std::uint32_t exchange) override;
  void on_timer() override { protocol_->on_timer(*this); }
  void on_evaluation(const Evaluation& evaluation) override {
    protocol_->on_evaluation(*this, evaluation);
  }
  void finish() override;

  void evaluate(Evaluations& evaluations) override;
  std::span<const ValueId> live() override;

  const Totals& totals() const override { return totals_; }
  const Work& work() const override { return work_; }
  std::span<const std::uint64_t> staleness_counts() const override { return staleness_counts_; }
  std::vector<LearnerTotals> learner_totals() const override;
  Losses losses() const override { return losses_; }
  OuterUpdates outer_updates() const override { return outer_; }

 private:
  enum class Presence : std::uint8_t { present, down, copying, back };
  struct Peer {
    ValueId value = 0;
    std::uint32_t age = 0;   // changes of the value
    double since = 0;        // the times below are up to then
    double coded = 0;        // when the messages of its exchange are made and read
    std::uint32_t sent = 0;  // models, as messages
    bool computing = false, exchanging = false;
    bool held = false, was_held = false;  // in an exchange for which it does not compute; ever
    double behind = 0;  // by so much computing what it is said to have done, as it was held
    Presence presence = Presence::present;
    std::uint32_t source = 0;  // of its last copy
    ExchangeTotals totals;
  };

  // Orders of the protocol.
  std::uint32_t learners() const override { return race_.learners; }
  double time() const override { return engine_.time(); }
  std::uint64_t updates() const override { return totals_.updates; }
  std::uint32_t per_node() const override;
  std::uint32_t count_down() const override { return machines_ ? machines_->count_down() : 0; }
  std::span<const std::uint32_t> present() const override { return present_; }
  void compute(std::uint32_t learner) override;
  void compute(std::uint32_t learner, std::uint64_t step) override;
  void compute_all() override;
  bool leaves(std::uint32_t learner) const override {
    return begins_alone_ && machines_ && machines_->is_told(learner);
  }
  const GradientFacts* computing(std::uint32_t learner) const override;
  double due(std::uint32_t learner) const override { return engine_.due(learner); }
  ValueId value(std::uint32_t learner) const override { return peers_[learner].value; }
  void set(std::uint32_t learner, ValueId value) override;
  double rate() const override { return eta(0, 1); }
  Stream random(std::uint32_t learner, std::uint32_t number) const override {
    return stream({race_.seed, replica_, Purpose::peers, learner, number});
  }
  void step(const GradientFacts& gradient) override;
  void skip(std::uint32_t learner, std::uint32_t steps) override;
  void step_all(std::span<const GradientFacts> gradients) override;
  ValueId average(ValueId base, std::span<const Term> terms) override;
  void average(std::span<const std::uint32_t> members, std::span<const Term> terms,
               MomentumState state) override;
  ValueId move(ValueId base, std::span<const Term> terms) override;
  void move(std::span<const std::uint32_t> members, std::span<const Term> terms) override;
  void average_sent(std::span<const std::uint32_t> members, ValueId base,
                    MomentumState state) override;
  void send_models(std::span<const std::uint32_t> members, ValueId base) override;
  void hear(std::span<const double> bytes) override;
  bool makes_messages() const override { return has_messages_; }
  std::uint32_t collective(std::span<const std::uint32_t> members, double share,
                           Payload payload) override;
  std::uint32_t pair(std::uint32_t a, std::uint32_t b, std::optional<double> time,
                     double share) override;
  std::uint32_t gossip(std::uint32_t learner, std::span<const std::uint32_t> hears,
                       std::span<const std::uint32_t> heard_by, double share) override;
  std::uint32_t message(std::uint32_t learner, Towards towards) override;
  std::span<const std::uint32_t> members(std::uint32_t exchange) const override {
    return members_[exchange];
  }
  bool exchanging(std::uint32_t learner) const override { return peers_[learner].exchanging; }
  void count_conflict(std::uint32_t learner) override { ++peers_[learner].totals.conflicts; }
  void count_outer_update(std::uint32_t staleness) override;
  void timer(double time) override { engine_.set(Happening::Kind::timer, time); }
  void evaluate_at(double time) override { engine_.set(Happening::Kind::look, time); }
  void follow(std::uint16_t plan) override;
  void deadlock(std::span<const std::uint32_t> circle) override;

  const Plan& plan() const { return race_.plans[race_.plan_at(plan_, updates())]; }
  ValueId sum(ValueId base, std::span<const Term> terms, Summed summed);
  /// Its times, up to now.
  [[gnu::always_inline]] void clock(Peer& peer) const {
    const double before = std::exchange(peer.since, time()), passed = time() - before;
    if (peer.was_held) [[unlikely]]
      return clock_held(peer, passed);
    if (peer.computing) {
      if (peer.exchanging) peer.totals.hidden += passed;
    } else if (peer.exchanging) {
      if (peer.coded > before) [[unlikely]]
        return clock_coding(peer, std::min(peer.coded - before, passed), passed);
      peer.totals.communicating += passed;
    } else {
      (peer.presence == Presence::down ? peer.totals.down : peer.totals.waiting) += passed;
    }
  }
  static void clock_held(Peer& peer, double passed);
  static void clock_coding(Peer& peer, double coding, double passed);
  void change(Peer& peer, ValueId value);
  Use use(const GradientFacts& gradient, std::uint32_t gradients, double like_it = 1);
  void send(const GradientFacts& gradient, std::uint32_t gradients);
  ValueId send_model(std::uint32_t learner, ValueId value, ValueId base);
  using Some = std::span<const std::uint32_t>;
  std::uint32_t ask(Some members, double share);
  std::uint32_t begin_coded(Some members);
  bool asks(Payload payload) const {
    return asks_ && payload == Payload::messages && plan().message.compressor;
  }
  void count(std::span<const GradientFacts> gradients);
  void make_updates();
  void update(std::span<const GradientFacts> gradients);
  double model_bytes() const { return network_ ? network_->model_bytes : 0; }
  double bytes_of(Payload payload) const {
    return payload != Payload::messages ? model_bytes() : plan().bytes_of_message(model_bytes());
  }
  const PeerNetwork& network_for(Payload payload) const {
    const bool whole = payload != Payload::messages || !plan().message.compressor;
    return whole || !race_.peers_of_messages ? *network_ : *race_.peers_of_messages;
  }
  /// An exchange that is ordered.
  struct Order {
    ExchangeKind kind;
    double bytes;
    Payload payload = Payload::models;
    std::optional<double> time = {};
  };
  /// delay: before it begins.
  std::uint32_t begin(const Order& order, Some members, Some hears, Some heard_by,
                      double delay = 0);
  std::uint32_t begin_now(const Order& order, Some members, Some hears, Some heard_by,
                          double delay);
  void load(const Order& order, Some members, Some hears, Some heard_by);
  void load_coded(const Order& order, Some members);
  /// Its members are free.
  [[gnu::always_inline]] void end_exchange(std::uint32_t exchange) {
    for (const std::uint32_t learner : members_[exchange]) {
      clock(peers_[learner]);
      peers_[learner].exchanging = peers_[learner].held = false;
    }
    if (observer_) tell(exchange);
    if (!machines_) return;
    hearing_ -= !heard_[exchange].empty();
    heard_[exchange].clear();
  }
  void tell(std::uint32_t exchange);
  void carry(std::uint32_t learner, const Traffic& traffic);
  ValueId evaluated();

  // Learners that fail: failing_peers.cpp.
  void on_machine(std::uint32_t learner);
  void fail(std::uint32_t learner);
  void leave_exchanges(std::uint32_t learner);
  void go_on_without(std::uint32_t exchange, std::uint32_t learner);
  void lose_gradients(std::uint32_t learner);
  void note_arrival(const GradientFacts& gradient);
  void note_use(const GradientFacts& gradient);
  void note_order(std::uint32_t exchange, const Order& order, Some hears, Some hearers);
  bool begins(std::uint32_t learner);
  bool is_free(std::uint32_t learner) const;
  void leave_those_free();
  bool is_present(std::uint32_t learner) const {
    return peers_[learner].presence == Presence::present;
  }
  std::uint32_t source_of(std::uint32_t learner) const;
  void copy(std::uint32_t learner);
  void come_back(std::uint32_t learner);
  void admit(std::uint32_t learner, std::optional<std::uint64_t> step = {});
  void begin_anew();
  void compute_those_left();

  // Learners that all go back to a checkpoint: restarting_peers.cpp.
  void use_checkpoints();
  bool pauses();
  void save();
  void restart();
  void stop_all(std::uint32_t learner);
  void go_back();
  void note_unsaved(const GradientFacts& gradient);
  void hold_checkpoint();

  const std::uint32_t replica_;
  PeerProtocol* protocol_;
  Observer* const observer_;
  const PeerNetwork* const network_;  // null: communication takes no time
  const bool has_messages_ = tape_.taped() && race_.has_messages();
  const bool asks_ = has_messages_ && network_ && race_.asks_for_bytes();  // for their bytes
  Exchanges exchanges_;
  std::optional<Communicators> communicators_;
  Transfer transfer_;                                // kept for its memory
  std::vector<std::vector<std::uint32_t>> members_;  // [exchange], of those under way
  std::vector<ExchangeFacts> under_way_;             // the same; with an observer
  std::vector<std::vector<std::uint32_t>> heard_;    // of those, and where learners fail; likewise
  std::uint64_t begun_ = 0;

  /// The learner's last message, where its bytes are asked for.
  struct Coded {
    std::optional<GradientId> gradient = {};  // of which it is made,
    ValueId value = no_value;                 // or its model, as the others read it
    double bytes = 0;
  };
  std::vector<Coded> coded_;            // [learner]
  std::vector<std::uint32_t> sending_;  // whose bytes are asked for
  double sent_share_ = 0;               // of which their collective has so much
  std::vector<Peer> peers_;
  std::vector<std::uint32_t> present_;
  std::optional<Machines> machines_;                 // the others where none fails are empty:
  const bool begins_alone_;                          // a learner, a step
  std::vector<std::uint32_t> leaving_;               // once they are free: their failure is told
  std::vector<Order> orders_;                        // [exchange], of those under way
  std::vector<std::vector<std::uint32_t>> hearers_;  // likewise
  std::vector<std::uint32_t> exchange_of_;           // [learner], that is in one
  std::uint32_t hearing_ = 0;                        // exchanges under way in which some are heard
  std::vector<std::vector<GradientFacts>> unused_;   // [learner], that have arrived
  Losses losses_;
  OuterUpdates outer_;
  double at_coordinator_ = 0;           // bytes that came there, less those sent
  std::unique_ptr<Restarts> restarts_;  // null: nobody goes back
  std::uint64_t first_step_ = 0;        // since training last began
  std::vector<Use> uses_;               // of a step; kept for its memory, as are the next three
  std::vector<GradientFacts> used_;
  std::vector<Term> terms_, read_;
  std::vector<ValueId> live_;
  std::vector<Term> averaged_;  // terms of the average ordered last
  ValueId average_ = 0;         // and what it gave
  std::uint32_t averager_ = 0;  // who was given that, if anybody
  StepCount steps_;
  bool finished_ = false;
  std::deque<std::vector<GradientFacts>> made_;  // of updates to come; with an observer
  Totals totals_;
  std::vector<std::uint64_t> staleness_counts_;
};

}  // namespace gradrace
