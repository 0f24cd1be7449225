#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "noloco",
    .definition = R"(Every learner makes `tau` steps by its own gradient; then it waits for one
other learner, the two exchange models, and each goes on from an outer step of its own.  A random
permutation for each round is cut into pairs; of an odd number of learners one is alone.  With y the
value that a learner has come to, phi the one after its last outer step, and bars for means of the
pair,

    m = beta m + eta (mean y - mean phi) + gamma (mean phi - phi)
    phi = phi + m,   y = phi

eta is the outer rate, beta `momentum`, gamma `consensus`.  An outer step moves learnt parameters;
the optimiser's state and statistics of batch normalisation stay the learner's own.  A learner sends
phi and y - phi, twice a model's bytes.  Every gradient is an update.

The mean of phi over all learners moves as that of `local-sgd` with `outer` {eta, momentum}, where
learners make their rounds together, and for two learners the protocols are one.)",
    .source =
        "Kolehmainen et al., arXiv 2506.10911 (NoLoCo), as its program has it, where gamma is eta; "
        "the bound of the iteration time: derived",
    .example = R"({"kind": "noloco", "tau": 50})"};

class NoLoCo final : public PeerProtocol {
 public:
  struct Config {
    std::uint32_t tau = 1;
    double eta = 0.7, momentum = 0.5, consensus = 0.7;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t /*learners*/) {
    fields.integer("tau", config.tau, Need::required, at_least(1), "steps between outer steps");
    fields.real("eta", config.eta, Need::defaulted, positive(), "outer learning rate");
    fields.real("momentum", config.momentum, Need::defaulted, from_below(0, 1), "outer momentum");
    config.consensus = std::min(config.eta, 1.0);
    fields.real("consensus", config.consensus, Need::defaulted, between(0, 1),
                "share of the distance to the pair's mean that an outer step goes (default: eta, 1 "
                "at most)");
  }

  NoLoCo(const Config& config, std::uint32_t learners) : config_(config), learners_(learners) {}

  void start(Peers& peers) override {
    at_.assign(learners_, {});
    for (std::uint32_t i = 0; i < learners_; ++i) at_[i].phi = at_[i].before = peers.value(i);
    rounds_.clear();
    first_round_ = 0;
    peers.compute_all();
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    Learner& learner = at_[arrival.learner];
    peers.step(arrival);
    if (++learner.steps < config_.tau) return peers.compute(arrival.learner);
    const std::uint32_t other = partner_of(peers, arrival.learner);
    if (other == arrival.learner) {
      peers.collective({&other, 1});
      return;
    }
    const bool is_there = at_[other].round == learner.round && at_[other].steps == config_.tau;
    if (is_there) peers.pair(arrival.learner, other, {}, models);
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    std::uint32_t pair[2];
    const auto last = std::ranges::copy(peers.members(exchange), pair).out;
    const std::span<const std::uint32_t> members(pair, last);
    outer_step(peers, members);
    for (const std::uint32_t learner : members) begin(peers, learner);
  }

  Traits traits() const override { return {.exchange = Traits::Exchange::of_pairs}; }

  void hold(std::vector<ValueId>& live) const override {
    for (const Learner& learner : at_) live.insert(live.end(), {learner.phi, learner.before});
  }

  /// A round takes at least the slower of two and their exchange, since who has come earlier to a
  /// round can but add to how far the two are apart.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    double exchange = 0;
    if (const PeerNetwork* network = conditions.network; network && learners_ > 1)
      exchange =
          undisturbed(*network, pair_transfer(*network, 0, 1, models * network->model_bytes));
    const bool alike = !conditions.network || conditions.network->per_node == 0;
    if (alike) theory.exchange_time = exchange;
    if (!conditions.law || !alike || learners_ % 2 == 1) return theory;
    const double round = slowest_of(2, *conditions.law, config_.tau).low + exchange;
    theory.iteration_time = {{round / (config_.tau * learners_), Basis::lower}};
    return theory;
  }

 private:
  static constexpr double models = 2;  // phi and y - phi

  struct Learner {
    std::uint64_t round = 0;
    std::uint32_t steps = 0;      // of the round
    ValueId phi = 0, before = 0;  // after the last outer step, and after the one before
  };
  struct Round {
    std::vector<std::uint32_t> partners;  // [learner]; itself: alone
    std::uint32_t ended = 0;              // learners who have made it
  };

  std::uint32_t partner_of(Peers& peers, std::uint32_t learner) {
    while (first_round_ + rounds_.size() <= at_[learner].round) draw_round(peers);
    return rounds_[at_[learner].round - first_round_].partners[learner];
  }

  void draw_round(Peers& peers) {
    Stream random = peers.random(0, static_cast<std::uint32_t>(first_round_ + rounds_.size()));
    std::vector<std::uint32_t> order = everyone(learners_);
    for (std::uint32_t left = learners_; left > 1; --left)
      std::swap(order[left - 1], order[uniform_below(random, left)]);
    Round& round = rounds_.emplace_back();
    round.partners = everyone(learners_);
    for (std::uint32_t i = 0; i + 1 < learners_; i += 2) {
      round.partners[order[i]] = order[i + 1];
      round.partners[order[i + 1]] = order[i];
    }
  }

  /// Of one or two, from where they have come to.  With phi' - phi before for m,
  ///
  ///     phi' = (1 + beta - gamma) phi - beta phi before + (gamma - eta) mean phi + eta mean y.
  void outer_step(Peers& peers, std::span<const std::uint32_t> members) {
    const auto& [tau, eta, momentum, consensus] = config_;
    const double share = 1.0 / static_cast<double>(members.size());
    means_.clear();
    for (const std::uint32_t member : members) {
      means_.push_back({at_[member].phi, (consensus - eta) * share});
      means_.push_back({peers.value(member), eta * share});
    }
    for (const std::uint32_t member : members) {
      Learner& learner = at_[member];
      terms_ = {{learner.phi, 1 + momentum - consensus}, {learner.before, -momentum}};
      terms_.insert(terms_.end(), means_.begin(), means_.end());
      peers.move({&member, 1}, terms_);
      learner.before = std::exchange(learner.phi, peers.value(member));
    }
  }

  void begin(Peers& peers, std::uint32_t learner) {
    Round& round = rounds_[at_[learner].round++ - first_round_];
    ++round.ended;
    at_[learner].steps = 0;
    for (; !rounds_.empty() && rounds_.front().ended == learners_; ++first_round_)
      rounds_.pop_front();
    peers.compute(learner);
  }

  const Config config_;
  const std::uint32_t learners_;

  // Of a run.
  std::vector<Learner> at_;
  std::deque<Round> rounds_;  // that some have made or ask for, and others have not
  std::uint64_t first_round_ = 0;
  std::vector<Term> means_, terms_;  // kept for their memory
};

}  // namespace

extern const ProtocolEntry noloco_entry{page, read_protocol<NoLoCo>};

}  // namespace gradrace
