#include <algorithm>
#include <vector>

#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "dasgd",
    .definition = R"(Local SGD with delayed averaging: the values that learners have after each
`tau` steps are averaged by a collective while they go on.  After `delay` steps of the next round a
learner takes the average in,

    w = xi w + (1 - xi) average

and waits for it if it is not there; where `delay` is `tau`, before its values of then go into the
next average.  An evaluation sees what has been taken in.  With `delay` 0 nobody goes on before it
is there; with xi = 0 that is local-sgd.)",
    .source = "Zhou, Ye, Gu, Wu, arXiv 2006.00441",
    .example = R"({"kind": "dasgd", "tau": 4, "delay": 1})"};

class DaSgd final : public PeerProtocol {
 public:
  struct Config {
    std::uint32_t tau = 4, delay = 1;
    double xi = 0.25;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t) {
    fields.integer("tau", config.tau, Need::defaulted, at_least(1), "steps in a round");
    fields.integer("delay", config.delay, Need::defaulted, between(0, config.tau, "protocol.tau"),
                   "steps of the next round before the average is taken in");
    fields.real("xi", config.xi, Need::defaulted, between(0, 1), "what is left of the own value");
  }

  DaSgd(const Config& config, std::uint32_t learners) : config_(config), learners_(learners) {}

  void start(Peers& peers) override {
    all_ = everyone(learners_);
    rounds_.resize(learners_);
    ends_.resize(learners_);
    PeerProtocol::start(peers);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    const std::uint32_t learner = arrival.learner;
    peers.step(arrival);
    Round& round = rounds_[learner];
    if (++round.steps == config_.delay && round.number > 0 && !take_in(peers, learner)) return;
    go_on(peers, learner);
  }

  void on_exchange(Peers& peers, std::uint32_t) override {
    std::vector<Term> terms;
    for (const ValueId end : ends_) terms.push_back({end, 1.0 / static_cast<double>(all_.size())});
    average_ = peers.average(ends_[0], terms);
    ++averages_;
    for (const std::uint32_t learner : all_)
      if (rounds_[learner].waits && take_in(peers, learner)) go_on(peers, learner);
  }

  Traits traits() const override {
    static constexpr std::string_view of_values[] = {"xi"};
    const std::size_t said = config_.xi != Config().xi;
    return {
        .together = true, .one_group = true, .keys_of_values = std::span(of_values).first(said)};
  }
  std::uint32_t k() const override { return learners_; }

  void hold(std::vector<ValueId>& live) const override {
    live.push_back(average_);
    live.insert(live.end(), ends_.begin(), ends_.end());
  }

  /// With T the time of a collective, d the delay and m = E[X] a round takes at least tau m, and at
  /// least T and what the slowest learner takes for the tau - d minibatches after it; both hold
  /// with equality where all minibatches take m: tau m + max(0, T - d m).  With d = 0 it is that of
  /// local-sgd.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    const double exchange = collective_time(conditions.network, everyone(learners_));
    theory.exchange_time = exchange;
    theory.may_come_late = true;
    const auto rest = slowest_of(conditions, config_.tau - config_.delay);
    if (!rest) return theory;
    const Distribution* const law = conditions.law;
    const double mean = law ? law->mean() : std::ranges::max(conditions.means);
    const double round = std::max(config_.tau * mean, rest->low + exchange);
    const bool waits = config_.delay == 0 && rest->low == rest->high;
    const bool exact = waits || learners_ == 1 || (law && law->variance() == 0);
    theory.iteration_time = {{round / config_.tau, exact ? Basis::exact : Basis::lower}};
    return theory;
  }

 private:
  struct Round {
    std::uint64_t number = 0;
    std::uint32_t steps = 0;
    bool waits = false;
  };

  /// The average of the round before, once it is there.
  bool take_in(Peers& peers, std::uint32_t learner) {
    Round& round = rounds_[learner];
    round.waits = averages_ < round.number;
    if (round.waits) return false;
    const Term terms[] = {{peers.value(learner), config_.xi}, {average_, 1 - config_.xi}};
    peers.set(learner, peers.average(peers.value(learner), terms));
    return true;
  }

  void go_on(Peers& peers, std::uint32_t learner) {
    Round& round = rounds_[learner];
    if (round.steps == config_.tau) {
      ends_[learner] = peers.value(learner);
      ++round.number;
      round.steps = 0;
      if (++ended_ == all_.size()) {
        ended_ = 0;
        peers.collective(all_);
      }
      if (config_.delay == 0 && !take_in(peers, learner)) return;
    }
    peers.compute(learner);
  }

  const Config config_;
  const std::uint32_t learners_;
  std::vector<std::uint32_t> all_;
  std::vector<Round> rounds_;  // [learner]
  std::vector<ValueId> ends_;  // [learner]: its value at the end of its last round
  std::size_t ended_ = 0;      // learners that have ended the round
  ValueId average_ = 0;        // of the last round that all have ended
  std::uint64_t averages_ = 0;
};

}  // namespace

extern const ProtocolEntry dasgd_entry{page, read_protocol<DaSgd>};

}  // namespace gradrace
