#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocols/averages/averaging_period.h"
#include "protocols/averages/buckets.h"
#include "protocols/averages/momentum_state.h"
#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "local-sgd",
    .definition = R"(Every learner makes `tau` steps by its own gradients; then all wait for each
other, and a collective averages their values.  `tau` may be a list of [from epoch, tau]: a round
has the tau of the epoch in which it begins.

`tau` may also be a list of numbers, one for each learner: learner i makes tau_i steps in each round,
and waits.  The mean of the values stays unweighted: each learner's counts 1 / P, however many steps
led to it.

AdaComm: with {adacomm: tau_0, interval: T_0} tau follows the loss F of what evaluations look at.
Every T_0 of time it becomes

    ceil(sqrt(F(now) / F(start) * eta(highest) / eta(now)) tau_0)

or, where that would be no less than before, half of before, rounded up, from the next round on;
eta(highest) is the greatest rate so far, so that a warm-up counts for nothing.

Update n is made when the last learner has made its n-th step, and an evaluation at update n comes
before the average that follows.  With a list a round has max tau_i updates, and a learner whose
steps of the round are over is waited for no more: several updates may be made at one instant.

`momentum_state` says what becomes of the optimiser's state at an average: `kept`, each learner's
own; `reset`, that of the start; `averaged`, as the parameters.

`outer` takes the average for an outer step: with x the value that all began with, eta the outer
rate and m the outer momentum,

    Delta = x - mean of the learners' values
    v = m v + Delta
    x = x - eta v, with `nesterov` x - eta (m v + Delta)

With `per_rate` Delta is divided by the learning rate, and the step multiplied by it: the rate when
the average is made, after all steps of the round.  It moves
learnt parameters: statistics of batch normalisation stay averaged, and the optimiser's state as
`momentum_state` says.

Where learners fail (`cluster.failures`) those who are left average; one that is back copies a
value and takes part from the next round on.  With `on_failure: restart` all go back to the last
checkpoint instead, which was written between two rounds and has the outer step's velocity too.

With `buckets` B > 1 the exchange overlaps with the backward pass of a round's last minibatch: the
backward pass makes the step layer by layer, so that part b of the value, a B-th of it, is there at

    1 - backward (1 - b / B)

of that minibatch's time, and is exchanged when all learners have it and the part before is done.
With `cluster.network.layers` these parts are layers, from the last one on, as with all-reduce.  It
changes times alone, and goes with no compression.

With `compression` a learner sends how far its value has come since all had one, as a message, and
the mean is of what is made of those.

SlowMo is `outer` {eta: alpha, momentum: beta, per_rate: true}.

DiLoCo is the optimiser adamw with `outer` {eta: 0.7, momentum: 0.9, nesterov: true} and tau in the
hundreds.)",
    .source =
        "Stich, ICLR 2019; SlowMo: Wang, Tantia, Ballas, Rabbat, ICLR 2020; DiLoCo: "
        "Douillard et al., arXiv 2311.08105; AdaComm: Wang, Joshi, MLSys 2019",
    .example = R"({"kind": "local-sgd", "tau": 4})"};

struct Outer {
  double eta = 1, momentum = 0;
  bool nesterov = false, per_rate = false;
};

struct Config {
  AveragingPeriod::Config period;
  Buckets::Config buckets;
  std::string momentum_state = "kept";
  bool has_outer = false;
  Outer outer;
};

class LocalSgd final : public PeerProtocol {
 public:
  LocalSgd(const Config& config, std::uint32_t learners)
      : config_(config),
        state_(momentum_state_named(config.momentum_state)),
        period_(config.period),
        learners_(learners),
        buckets_(config.buckets) {}

  void start(Peers& peers) override {
    period_.start(peers);
    x_ = before_ = mean_before_ = peers.value(0);
    messages_ = peers.makes_messages();
    begin(peers);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    peers.step(arrival);
    const std::uint32_t learner = arrival.learner;
    if (++steps_[learner] < tau_[learner]) {
      peers.compute(learner);
      return look(peers, learner);
    }
    if (tau_.differs()) peers.skip(learner, most_ - tau_[learner]);
    ++waiting_;
    go_on(peers);
  }

  void on_timer(Peers& peers) override {
    if (last_.empty()) {
      buckets_.go_on(peers);
      return;
    }
    for (const std::uint32_t learner : last_) buckets_.begun(peers, learner);
    in_last_ += last_.size();
    last_.clear();
    if (in_last_ == learners_) buckets_.await(peers, false);
  }

  void on_exchange(Peers& peers, std::uint32_t) override {
    if (buckets_.ended(peers) && buckets_.await(peers, are_done(peers))) average(peers);
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    if (steps_[learner] == tau_[learner]) --waiting_;
    if (!peers.exchanging(peers.present()[0])) go_on(peers);
  }
  void on_return(Peers&, std::uint32_t) override {}  // it comes in when a round begins

  std::unique_ptr<PeerProtocol> copy() const override { return std::make_unique<LocalSgd>(*this); }

  void on_evaluation(Peers& peers, const Evaluation& evaluation) override {
    period_.look(peers, evaluation);
  }

  Traits traits() const override {
    static constexpr std::string_view of_values[] = {"momentum_state", "outer"};
    const std::size_t first = state_ == MomentumState::kept, last = config_.has_outer ? 2 : 1;
    return {.needs_evaluations = period_.follows_loss(),
            .needs_epochs = period_.goes_by_epochs(),
            .no_phase = period_.differs() ? "tau" : "",
            .together = true,
            .sends_messages = true,
            .parts = config_.buckets.parts(),
            .by_layer = true,
            .one_group = true,
            .goes_on_without = true,
            .no_failures = config_.buckets.buckets > 1 ? "buckets" : "",
            .goes_back = !period_.follows_loss(),
            .keys_of_values = std::span(of_values).subspan(first, last - first),
            .may_be_phase = true};
  }
  std::uint32_t k() const override { return learners_; }

  void hold(std::vector<ValueId>& live) const override {
    if (state_ == MomentumState::reset) live.push_back(0);
    if (config_.has_outer)
      live.insert(live.end(), {x_, before_, mean_before_});
    else if (messages_)
      live.push_back(x_);
  }

  /// A round is the slowest learner's tau minibatches and what is visible of a collective.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    const double exchange = buckets_.exchange_time(conditions);
    theory.exchange_time = exchange;
    theory.may_come_late = true;
    const auto tau = period_.constant();
    const auto slowest = tau ? slowest_of(conditions, *tau) : std::nullopt;
    if (!slowest) return theory;
    theory.in_step = *tau == 1 || (conditions.law && conditions.law->variance() == 0);
    const bool together = theory.in_step || !buckets_.begins_early();
    const auto round =
        together ? buckets_.time(slowest->high, conditions) : slowest->high + exchange;
    if (round)
      theory.iteration_time = {
          {*round / *tau, together && slowest->low == slowest->high ? Basis::exact : Basis::upper}};
    theory.mean_follows_sync = theory.in_step && !config_.has_outer;
    return theory;
  }

  std::optional<Mixing> mixing() const override {
    const auto tau = period_.constant();
    return tau ? std::optional(mixing_of_all(learners_, *tau)) : std::nullopt;
  }

 private:
  /// A round.
  void begin(Peers& peers) {
    tau_ = period_.steps(peers.work());
    most_ = tau_.greatest();
    waiting_ = 0;
    steps_.assign(learners_, 0);
    buckets_.start();
    in_last_ = 0;
    last_.clear();
    peers.compute_all();
    overlaps_ = buckets_.begins_early();
    if (!overlaps_) return;
    for (const std::uint32_t learner : peers.present()) look(peers, learner);
  }

  /// Whether the minibatch that the learner begins is the last of its round: when it is due is
  /// known once it has begun.
  void look(Peers& peers, std::uint32_t learner) {
    if (!overlaps_ || steps_[learner] + 1 < tau_[learner]) return;
    last_.push_back(learner);
    peers.timer(peers.time());
  }

  bool are_done(const Peers& peers) const { return waiting_ >= peers.present().size(); }

  void go_on(Peers& peers) {
    if (!are_done(peers)) return;
    peers.send_models(peers.present(), x_);
    if (buckets_.computed(peers)) average(peers);
  }

  void average(Peers& peers) {
    peers.average_sent(peers.present(), x_, state_);
    if (config_.has_outer)
      outer_step(peers);
    else if (messages_)
      x_ = common(peers);
    begin(peers);
  }

  /// What all hold.
  static ValueId common(const Peers& peers) { return peers.value(peers.present()[0]); }

  /// Of the mean that all hold.  With x' = x - eta v or x - eta (m v + Delta) the velocity is
  /// written as what it has moved: m v = m (x - x before), with nesterov + eta m (x before - mean
  /// before) besides.
  void outer_step(Peers& peers) {
    const auto& [eta, momentum, nesterov, per_rate] = config_.outer;
    const double rate = peers.rate();
    const bool scaled = per_rate && rate_before_ > 0 && rate > 0;
    const double m = momentum * (scaled ? rate / rate_before_ : 1);
    const double along = nesterov ? eta * (1 + momentum) : eta;
    const double ahead = nesterov ? eta * m : 0;
    const ValueId mean = common(peers);
    const Term terms[] = {{x_, 1 - along + ahead - (ahead - m)},
                          {before_, ahead - m},
                          {mean_before_, -ahead},
                          {mean, along}};
    before_ = x_;
    rate_before_ = rate;
    if (nesterov) mean_before_ = mean;
    peers.move(peers.present(), terms);
    x_ = common(peers);
  }

  const Config config_;
  const MomentumState state_;
  AveragingPeriod period_;
  const std::uint32_t learners_;
  PerLearner tau_;                                // of this round
  std::uint32_t most_ = 1;                        // of those
  ValueId x_ = 0, before_ = 0, mean_before_ = 0;  // of the outer step: now, and one step ago
  double rate_before_ = 0;
  bool messages_ = false;
  std::vector<std::uint32_t> steps_;  // [learner], since the average
  std::size_t waiting_ = 0;
  Buckets buckets_;
  bool overlaps_ = false;            // the exchange, with computing
  std::size_t in_last_ = 0;          // learners in their last minibatch of the round, or beyond,
  std::vector<std::uint32_t> last_;  // and those that begin it now
};

void visit_outer(Fields& fields, Config& config) {
  if (!fields.open("outer", Need::none, "a step along the average, in place of the average"))
    return;
  config.has_outer = true;
  fields.real("eta", config.outer.eta, Need::defaulted, positive(), "outer learning rate");
  fields.real("momentum", config.outer.momentum, Need::defaulted, from_below(0, 1),
              "outer momentum");
  fields.flag("nesterov", config.outer.nesterov, Need::defaulted, "the outer step looks ahead");
  fields.flag("per_rate", config.outer.per_rate, Need::defaulted,
              "Delta is taken over the learning rate");
  for (const auto& [key, value] : {std::pair("nesterov", config.outer.nesterov),
                                   std::pair("per_rate", config.outer.per_rate)}) {
    fields.idle(key, value && config.outer.momentum == 0, "says nothing without the outer momentum",
                "momentum > 0 beside it, or false");
  }
  fields.close();
}

MakeProtocol read(Fields& fields, const Setting& setting) {
  Config config;
  AveragingPeriod::visit(fields, config.period, setting);
  fields.choice("momentum_state", config.momentum_state, momentum_states, Need::defaulted,
                "what becomes of the optimiser's state at an average");
  fields.idle("momentum_state", !setting.has_state && config.momentum_state != "kept",
              "says nothing, as the optimiser keeps no state",
              "kept, or an optimiser with momentum, moments or ema");
  visit_outer(fields, config);
  Buckets::visit(fields, config.buckets, setting,
                 "B: parts of a value, exchanged one after the other");
  if (!fields.good()) return {};
  return [config, learners = setting.learners] {
    return std::make_unique<LocalSgd>(config, learners);
  };
}

}  // namespace

extern const ProtocolEntry local_sgd_entry{page, read};

}  // namespace gradrace
