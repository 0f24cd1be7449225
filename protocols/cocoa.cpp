#include <cstdint>
#include <optional>
#include <vector>

#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "cocoa",
    .definition =
        R"(Dual coordinate ascent in rounds, without a server, of the model svm alone: each
of P learners has a shard of the rows (`dataset.partition`), and remembers their dual variables
alpha.  In a round it goes over H random rows of them, from the w that all hold, and finds for each
in turn the alpha_i in [0, 1] that is best while the others stay,

    alpha_i = clip(alpha_i - (y_i x_i . (w + sigma v) - 1) lambda n / (sigma ||x_i||^2), 0, 1),

lambda = 2 l2, n the rows of the training set, where v, from 0 on, is the sum of the changes times
y_i x_i / (lambda n).  Then a collective adds up the v of all:

    w = w + gamma sum_k v_k,   and of each change of alpha gamma is kept.

With `beta` (CoCoA) gamma = beta / P and sigma = 1: beta 1 is the average; with `gamma` (CoCoA+) sigma
= gamma P: gamma 1 adds.  An update has P passes, each of which
takes one draw of the runtime, and H / rate where there is one, and counts as a minibatch;
learning_rate of curve.csv is gamma P.  curve.csv has `duality_gap`, the loss
less the dual objective, which the least loss is between.  Where P does not divide n some rows are in
no shard, and a gap remains.  In float32 the gap is as exact as the rounding of w, which adds up over
thousands of rounds: below 1e-4 take precision float64.)",
    .source = "Jaggi et al., NIPS 2014 (CoCoA), Algorithm 1; Ma et al., ICML 2015 (CoCoA+)",
    .example = R"({"kind": "cocoa", "local_steps": 100, "gamma": 1})"};

class Cocoa final : public PeerProtocol {
 public:
  struct Config {
    std::uint32_t local_steps = 1;
    std::optional<double> beta, gamma;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("local_steps", config.local_steps, Need::required, at_least(1),
                   "H: rows of a learner's pass");
    fields.real("beta", config.beta, between(1e-9, learners),
                "of the mean of all passes, as if each were alone: CoCoA");
    fields.real("gamma", config.gamma, between(1e-9, 1),
                "of the sum of all passes, each of which reckons with the others: CoCoA+");
    fields.need_one("beta", "gamma");
  }

  Cocoa(const Config& config, std::uint32_t learners)
      : learners_(learners),
        pass_{config.local_steps, config.gamma ? *config.gamma : *config.beta / learners,
              config.gamma ? *config.gamma * learners : 1} {}

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    passes_.push_back(arrival);
    if (passes_.size() == learners_) peers.collective(peers.present());
  }

  void on_exchange(Peers& peers, std::uint32_t) override {
    peers.step_all(passes_);
    passes_.clear();
    peers.compute_all();
  }

  Traits traits() const override {
    return {.together = true, .one_value = true, .one_group = true, .dual = pass_};
  }
  std::uint32_t k() const override { return learners_; }
  std::uint32_t gradients_of_step() const override { return learners_; }

  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    theory.in_step = true;
    theory.exchange_time = collective_time(conditions.network, everyone(learners_));
    if (const auto slowest = slowest_minibatch(conditions))
      theory.iteration_time = {{*slowest + *theory.exchange_time, Basis::exact}};
    return theory;
  }

 private:
  const std::uint32_t learners_;
  const DualPass pass_;
  std::vector<GradientFacts> passes_;  // of this round, that are done
};

}  // namespace

extern const ProtocolEntry cocoa_entry{page, read_protocol<Cocoa>};

}  // namespace gradrace
