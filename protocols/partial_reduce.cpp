#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "partial-reduce",
    .definition = R"(A learner makes a step by its own gradient and is ready.  A controller makes a
group of the first `group` learners that are ready; a collective averages their values, each keeps
its optimiser's state, and they go on.  Nobody waits for a learner that is slow, but for those left
over while fewer than `group` are ready.  Every gradient is an update.  Where learners fail
(`cluster.failures`) a group has no more members than there are learners left.)",
    .source = "Miao, Nie, Shao, Yang, Jiang, Ma, Cui, SIGMOD 2021",
    .example = R"({"kind": "partial-reduce", "group": 3})"};

class PartialReduce final : public PeerProtocol {
 public:
  struct Config {
    std::uint32_t group = 1;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("group", config.group, Need::required, between(1, learners, "cluster.learners"),
                   "learners that average their values");
  }

  PartialReduce(const Config& config, std::uint32_t learners)
      : group_(config.group), learners_(learners) {}

  void start(Peers& peers) override {
    ready_.clear();
    PeerProtocol::start(peers);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    peers.step(arrival);
    if (group_ == 1) return peers.compute(arrival.learner);
    ready_.push_back(arrival.learner);
    go_on(peers);
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    const auto members = peers.members(exchange);
    peers.average(members);
    for (const std::uint32_t learner : members) peers.compute(learner);
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    std::erase(ready_, learner);
    go_on(peers);
  }

  Traits traits() const override { return {.goes_on_without = true, .begins_alone = true}; }

  /// A learner's step is a minibatch and a collective, and more where it waits: not in groups of
  /// one or of all, nor where all minibatches take the same and nobody is left over.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    const std::uint32_t P = learners_;
    const PeerNetwork* const network = conditions.network;
    const bool alike = group_ == 1 || group_ == P || !network || network->per_node == 0;
    const double exchange = alike ? collective_time(network, everyone(group_)) : 0;
    if (alike) theory.exchange_time = exchange;
    const bool kept =
        !network || network->communicator_setup == 0 || P / group_ <= network->communicators;
    const bool constant = conditions.law && conditions.law->variance() == 0;
    const bool in_time = constant && alike && P % group_ == 0 && kept;
    const bool exact = group_ == 1 || group_ == P || in_time;
    auto time = time_between_minibatches(conditions, exchange);
    if (group_ == P) {
      const auto slowest = slowest_minibatch(conditions);
      time = slowest ? std::optional((*slowest + exchange) / P) : std::nullopt;
    }
    if (time) theory.iteration_time = {{*time, exact ? Basis::exact : Basis::lower}};
    return theory;
  }

 private:
  void go_on(Peers& peers) {
    if (ready_.empty() || ready_.size() < std::min<std::size_t>(group_, peers.present().size()))
      return;
    std::ranges::sort(ready_);
    peers.collective(ready_);
    ready_.clear();
  }

  const std::uint32_t group_, learners_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace

extern const ProtocolEntry partial_reduce_entry{page, read_protocol<PartialReduce>};

}  // namespace gradrace
