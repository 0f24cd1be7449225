#include "protocols/phases/peer_switch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/phases/phase_clock.h"

namespace gradrace {

namespace {

/// Between a phase's protocol and the learners: sees the update that ends the phase, and starts no
/// minibatch and no exchange after it.
class PeerSwitch final : public PeerProtocol, private Peers {
 public:
  explicit PeerSwitch(const Phases& phases)
      : phases_(phases), traits_(phases.traits()), clock_(phases_) {
    for (const Phase& phase : phases_.list()) protocols_.push_back(phase.peer_protocol());
  }

  void start(Peers& peers) override {
    peers_ = &peers;
    unused_.resize(learners());
    under_way_.resize(learners());
    all_ = everyone(learners());
    run(0);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    peers_ = &peers;
    --computing_;
    unused_[arrival.learner] = arrival;
    protocol().on_gradient(*this, arrival);
    if (over_) give_way();
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    peers_ = &peers;
    if (joining_) return join();
    under_way_[exchange] = false;
    --exchanging_;
    protocol().on_exchange(*this, exchange);
    if (over_) give_way();
  }

  void on_timer(Peers& peers) override {
    peers_ = &peers;
    if (over_) return;
    for (const std::uint32_t learner : waiting_) peers_->compute(learner);
    computing_ += waiting_.size();
    waiting_.clear();
    if (timer_ > time()) return peers_->timer(timer_);
    timer_ = PhaseClock::never;
    protocol().on_timer(*this);
    if (over_) give_way();
  }

  void on_evaluation(Peers& peers, const Evaluation& evaluation) override {
    peers_ = &peers;
    if (over_) return;
    if (clock_.answers(time())) protocol().on_evaluation(*this, evaluation);
    clock_.look(evaluation, time());
    peers_->evaluate_at(clock_.next_look());
  }

  Traits traits() const override { return traits_; }
  std::vector<Change> changes() const override { return phases_.changes(); }
  std::uint32_t k() const override { return protocol().k(); }
  std::uint32_t gradients_of_step() const override { return protocol().gradients_of_step(); }

  void hold(std::vector<ValueId>& live) const override {
    for (std::size_t phase = clock_.turn(); phase < protocols_.size(); ++phase) {
      protocols_[phase]->hold(live);
      if (phase > clock_.turn() && phases_[phase].momentum_state == MomentumState::reset)
        live.push_back(0);
    }
  }

 private:
  PeerProtocol& protocol() const { return *protocols_[clock_.turn()]; }

  /// All are idle and agree.
  void run(std::size_t phase) {
    clock_.begin(phase, done());
    clock_.run(phase, done(), time());
    traits_.together = protocol().traits().together;
    over_ = false;
    peers_->follow(clock_.plan(done()));
    protocol().start(*this);
    peers_->evaluate_at(clock_.next_look());
  }

  /// When all have finished their minibatches and exchanges, gradients that the protocol has not
  /// used move their learners' values, and all values are averaged.
  void give_way() {
    if (computing_ > 0 || exchanging_ > 0) return;
    for (auto& gradient : unused_)
      if (gradient) peers_->step(*std::exchange(gradient, {}));
    timer_ = PhaseClock::never;
    peers_->timer(timer_);
    peers_->evaluate_at(PhaseClock::never);
    joining_ = true;
    peers_->collective(all_);
  }

  void join() {
    joining_ = false;
    const std::size_t next = clock_.turn() + 1;
    peers_->average(all_, phases_[next].momentum_state);
    run(next);
  }

  Done done() const {
    const Work& work = peers_->work();
    return {static_cast<double>(work.gradients), work.epochs,
            static_cast<double>(peers_->updates())};
  }

  /// Values have moved by these gradients; so many updates had been made before.
  void moved(std::span<const GradientFacts> gradients, std::uint64_t updates) {
    for (const GradientFacts& gradient : gradients) unused_[gradient.learner].reset();
    peers_->follow(clock_.plan(done()));
    if (over_ || peers_->updates() == updates || !clock_.is_over(done(), time())) return;
    over_ = true;
    waiting_.clear();
    const auto free = std::ranges::find(under_way_, false);
    spare_ = static_cast<std::uint32_t>(free - under_way_.begin());
  }

  std::uint32_t begun(std::uint32_t exchange) {
    under_way_[exchange] = true;
    ++exchanging_;
    return exchange;
  }

  // What the phase's protocol is handed.
  std::uint32_t learners() const override { return peers_->learners(); }
  double time() const override { return peers_->time(); }
  const Work& work() const override { return peers_->work(); }
  std::uint64_t updates() const override { return peers_->updates(); }
  std::uint32_t per_node() const override { return peers_->per_node(); }
  /// After all arrivals of the instant, one of which may end the phase.
  void compute(std::uint32_t learner) override {
    if (over_) return;
    waiting_.push_back(learner);
    peers_->timer(time());
  }
  void compute_all() override {
    if (over_) return;
    computing_ += learners();
    peers_->compute_all();
  }
  const GradientFacts* computing(std::uint32_t learner) const override {
    return peers_->computing(learner);
  }
  double due(std::uint32_t learner) const override {
    return computing(learner) ? peers_->due(learner) : time();
  }
  ValueId value(std::uint32_t learner) const override { return peers_->value(learner); }
  void set(std::uint32_t learner, ValueId value) override { peers_->set(learner, value); }
  double rate() const override { return peers_->rate(); }
  /// Choices are numbered from 0 in every phase, and are no more than the gradients before it.
  Stream random(std::uint32_t learner, std::uint32_t number) const override {
    return peers_->random(learner, static_cast<std::uint32_t>(clock_.before().gradients) + number);
  }
  void step(const GradientFacts& gradient) override {
    const std::uint64_t updates = peers_->updates();
    peers_->step(gradient);
    moved({&gradient, 1}, updates);
  }
  void step_all(std::span<const GradientFacts> gradients) override {
    const std::uint64_t updates = peers_->updates();
    peers_->step_all(gradients);
    moved(gradients, updates);
  }
  ValueId average(ValueId base, std::span<const Term> terms) override {
    return peers_->average(base, terms);
  }
  void average(std::span<const std::uint32_t> members, std::span<const Term> terms,
               MomentumState state) override {
    peers_->average(members, terms, state);
  }
  void move(std::span<const std::uint32_t> members, std::span<const Term> terms) override {
    peers_->move(members, terms);
  }
  std::uint32_t collective(std::span<const std::uint32_t> members, double share,
                           Payload payload) override {
    return over_ ? spare_ : begun(peers_->collective(members, share, payload));
  }
  std::uint32_t pair(std::uint32_t a, std::uint32_t b, std::optional<double> time) override {
    return over_ ? spare_ : begun(peers_->pair(a, b, time));
  }
  std::uint32_t gossip(std::uint32_t learner, std::span<const std::uint32_t> hears,
                       std::span<const std::uint32_t> heard_by) override {
    return over_ ? spare_ : begun(peers_->gossip(learner, hears, heard_by));
  }
  bool exchanging(std::uint32_t learner) const override { return peers_->exchanging(learner); }
  void count_conflict(std::uint32_t learner) override { peers_->count_conflict(learner); }
  void timer(double time) override {
    timer_ = time;
    if (!over_ && waiting_.empty()) peers_->timer(time);
  }
  void evaluate_at(double time) override {
    clock_.ask(time);
    if (!over_) peers_->evaluate_at(clock_.next_look());
  }
  void follow(std::uint16_t) override {}
  void deadlock(std::span<const std::uint32_t> circle) override { peers_->deadlock(circle); }

  const Phases phases_;
  Traits traits_;
  std::vector<std::unique_ptr<PeerProtocol>> protocols_;  // [phase]
  std::vector<std::uint32_t> all_;
  Peers* peers_ = nullptr;  // of this call

  PhaseClock clock_;
  bool over_ = false;     // nothing begins any more
  bool joining_ = false;  // the average of all is under way

  std::vector<std::uint32_t> waiting_;  // learners that begin a minibatch later in this instant
  double timer_ = PhaseClock::never;    // of the protocol

  std::size_t computing_ = 0, exchanging_ = 0;        // learners; exchanges
  std::vector<std::optional<GradientFacts>> unused_;  // [learner]: arrived, and moved no value yet
  std::vector<bool> under_way_;                       // [exchange]
  std::uint32_t spare_ = 0;  // the number of no exchange, once the phase is over
};

}  // namespace

MakeProtocol make_peer_switch(const Phases& phases) {
  return [phases] { return std::make_unique<PeerSwitch>(phases); };
}

}  // namespace gradrace
