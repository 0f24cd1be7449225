#include <algorithm>
#include <memory>
#include <vector>

#include "protocols/averages/buckets.h"
#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "all-reduce",
    .definition = R"(Synchronous without a server: when the gradients of all P learners are there, a
collective adds them up, and every learner makes the same update.  All hold one value, as with sync.

With `buckets` B > 1 the exchange overlaps with the backward pass: part b of the gradient, a B-th of
it, is there at

    1 - backward (1 - b / B)

of the minibatch's time, and is exchanged when all learners have it and the part before is done.

With `cluster.network.layers` these parts are the gradients of layers, from the last one on, whose
shares of the passes are those of their `flop`; with equal layers they are buckets.  One channel takes
them in that order, so that the first layer's comes last; the next step begins after it.  Layers that
are divided among learners (`parallelism`) also exchange what goes into them, each time by half of a
collective: members gather it before the forward pass, and reduce and scatter its gradient in the
backward one.  All computing waits for that.

With `accumulate` m > 1 a learner computes m minibatches at the value that all hold, one after
another, before the exchange; the update has the mean of all P m gradients, and what is sent is as
large as one.

Where learners fail (`cluster.failures`) an update has the mean of the gradients of those who are
left; one that is back copies the value and takes part from the next step on.  With `on_failure:
restart` all go back to the last checkpoint instead, which was written between two steps.  Where P
learners are up for exponential times of mean M and down for R in the mean, M' = M / P, w steps take
tau >= `every`, C = `cost` and F = `reform`, a step takes

    (M' + S) exp(F / M') (exp((tau + C) / M') - 1) / w,  S = M' ((1 + R / M)^P - 1))",
    .source =
        "Patarasuk, Yuan, J. Parallel Distrib. Comput. 2009; Sergeev, Del Balso, arXiv "
        "1802.05799 (Horovod); buckets: Li et al., VLDB 2020 (PyTorch DDP); layers: Das et al., "
        "arXiv 1602.06709",
    .example = R"({"kind": "all-reduce"})"};

class AllReduce final : public PeerProtocol {
 public:
  struct Config : Buckets::Config {
    std::uint32_t accumulate = 1;
  };
  static void visit(Fields& fields, Config& config, const Setting& setting) {
    Buckets::visit(fields, config, setting,
                   "B: parts of a gradient, exchanged one after the other");
    fields.integer("accumulate", config.accumulate, Need::defaulted, between(1, 1e6),
                   "m: minibatches of a learner in an update");
    if (config.accumulate > 1 && (config.buckets > 1 || config.of_layers))
      fields.complain(
          "accumulate", "does not go with buckets, which begin in the last minibatch",
          config.of_layers ? "1, or without cluster.network.layers" : "1, or buckets: 1");
  }

  AllReduce(const Config& config, std::uint32_t learners)
      : config_(config), learners_(learners), members_(learners), buckets_(config) {}

  void start(Peers& peers) override {
    arrived_.reserve(k());
    made_.assign(learners_, 0);
    begin(peers);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    arrived_.push_back(arrival);
    if (config_.accumulate > 1 && ++made_[arrival.learner] % config_.accumulate != 0)
      return peers.compute(arrival.learner);
    if (are_all_there() && buckets_.computed(peers)) step(peers);
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    std::erase_if(arrived_, [&](const GradientFacts& its) { return its.learner == learner; });
    made_[learner] = 0;
    members_ = static_cast<std::uint32_t>(peers.present().size());
    if (are_all_there() && buckets_.computed(peers)) step(peers);
  }
  void on_return(Peers&, std::uint32_t) override {}  // it comes in when a step begins

  std::unique_ptr<PeerProtocol> copy() const override { return std::make_unique<AllReduce>(*this); }

  void on_timer(Peers& peers) override {
    if (buckets_.go_on(peers)) step(peers);
  }

  void on_exchange(Peers& peers, std::uint32_t) override {
    if (buckets_.ended(peers) && buckets_.await(peers, are_all_there())) step(peers);
  }

  Traits traits() const override {
    return {.no_phase = config_.accumulate > 1 ? "accumulate" : "",
            .together = true,
            .sends_messages = true,
            .parts = config_.parts(),
            .one_value = true,
            .by_layer = true,
            .one_group = !is_divided(),
            .goes_on_without = true,
            .no_failures = config_.buckets > 1 ? "buckets" : "",
            .goes_back = true,
            .may_be_phase = true};
  }
  std::uint32_t k() const override { return members_ * config_.accumulate; }
  std::uint32_t gradients_of_step() const override { return k(); }

  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    theory.in_step = theory.mean_follows_sync = true;
    theory.exchange_time = buckets_.exchange_time(conditions);
    if (config_.of_layers) {
      theory.iteration_time = step_time(*config_.of_layers, config_.backward, conditions);
      return theory;
    }
    if (config_.accumulate > 1) {
      if (const auto slowest = slowest_of(conditions, config_.accumulate))
        theory.iteration_time = {{slowest->high + *theory.exchange_time,
                                  slowest->low == slowest->high ? Basis::exact : Basis::upper}};
      return theory;
    }
    if (const auto slowest = slowest_minibatch(conditions))
      if (const auto time = buckets_.time(*slowest, conditions))
        theory.iteration_time = {{*time, Basis::exact}};
    return theory;
  }

 private:
  bool is_divided() const {
    return config_.of_layers &&
           std::ranges::any_of(*config_.of_layers,
                               [](const StepExchange& one) { return one.members > 0; });
  }
  bool are_all_there() const { return arrived_.size() == k(); }

  void begin(Peers& peers) {
    arrived_.clear();
    buckets_.start();
    peers.compute_all();
    members_ = static_cast<std::uint32_t>(peers.present().size());
    if (!buckets_.begins_early()) return;
    for (const std::uint32_t learner : peers.present()) buckets_.begun(peers, learner);
    buckets_.await(peers, false);
  }

  void step(Peers& peers) {
    peers.step_all(arrived_);
    begin(peers);
  }

  const Config config_;
  const std::uint32_t learners_;
  std::uint32_t members_;  // of this step
  std::vector<GradientFacts> arrived_;
  std::vector<std::uint64_t> made_;  // [learner]: minibatches
  Buckets buckets_;
};

MakeProtocol read(Fields& fields, const Setting& setting) {
  AllReduce::Config config;
  AllReduce::visit(fields, config, setting);
  if (!fields.good()) return {};
  return [config, learners = setting.learners] {
    return std::make_unique<AllReduce>(config, learners);
  };
}

}  // namespace

extern const ProtocolEntry all_reduce_entry{page, read};

}  // namespace gradrace
