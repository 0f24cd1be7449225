#include "protocols/phases/peer_switch.h"

#include <memory>
#include <vector>

#include "protocols/phases/phase_peers.h"

namespace gradrace {

namespace {

class PeerSwitch final : public PeerProtocol {
 public:
  explicit PeerSwitch(const Phases& phases)
      : phases_(phases), traits_(phases.traits()), clock_(phases_), seen_(clock_) {
    for (const Phase& phase : phases_.list()) protocols_.push_back(phase.peer_protocol());
  }

  void start(Peers& peers) override {
    seen_.stand_before(peers);
    all_ = everyone(peers.learners());
    run(0);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    seen_.stand_before(peers);
    seen_.saw(arrival);
    protocol().on_gradient(seen_, arrival);
    if (seen_.is_over()) give_way();
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    seen_.stand_before(peers);
    if (joining_) return join();
    seen_.saw_end_of(exchange);
    protocol().on_exchange(seen_, exchange);
    if (seen_.is_over()) give_way();
  }

  void on_timer(Peers& peers) override {
    seen_.stand_before(peers);
    if (!seen_.rings()) return;
    protocol().on_timer(seen_);
    if (seen_.is_over()) give_way();
  }

  void on_evaluation(Peers& peers, const Evaluation& evaluation) override {
    seen_.stand_before(peers);
    if (seen_.is_over()) return;
    if (clock_.answers(peers.time())) protocol().on_evaluation(seen_, evaluation);
    clock_.look(evaluation, peers.time());
    seen_.look();
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
    clock_.begin(phase, seen_.done());
    clock_.run(phase, seen_.done(), seen_.time());
    traits_.together = protocol().traits().together;
    seen_.open();
    seen_.peers().follow(clock_.plan(seen_.done()));
    protocol().start(seen_);
    seen_.look();
  }

  /// When all have finished their minibatches and exchanges, all values are averaged.
  void give_way() {
    if (!seen_.are_idle()) return;
    seen_.step_by_unused();
    seen_.peers().timer(PhaseClock::never);
    seen_.peers().evaluate_at(PhaseClock::never);
    joining_ = true;
    seen_.peers().collective(all_);
  }

  void join() {
    joining_ = false;
    const std::size_t next = clock_.turn() + 1;
    seen_.peers().average(all_, phases_[next].momentum_state);
    run(next);
  }

  const Phases phases_;
  Traits traits_;
  std::vector<std::unique_ptr<PeerProtocol>> protocols_;  // [phase]
  std::vector<std::uint32_t> all_;
  PhaseClock clock_;
  PhasePeers seen_;       // by the protocol
  bool joining_ = false;  // the average of all is under way
};

}  // namespace

MakeProtocol make_peer_switch(const Phases& phases) {
  return [phases] { return std::make_unique<PeerSwitch>(phases); };
}

}  // namespace gradrace
