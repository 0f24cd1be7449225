#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/groups/graph.h"
#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "ad-psgd",
    .definition = R"(Asynchronous decentralised parallel SGD.  On every graph but
bipartite-exponential learners can come to wait for each other in a circle, sooner or later; the run
ends there, as deadlocked.

With its gradient g_i ready, learner i asks one of its neighbours in `graph`, drawn at random, for
an exchange, which makes both values their mean; then it moves by the gradient,

    x_i = x_j = (x_i + x_j) / 2,   then x_i = x_i - eta g_i

Each keeps the state of its own optimiser, and every gradient is an update.  A learner is in one
exchange at a time; those who ask it while it is busy are answered in the order in which they asked.

`overlap` true: a learner whose gradient is ready starts its next minibatch at the value it has
then, and answers while it computes; it waits only while its last gradient is not applied.  False:
it computes, exchanges, steps, and answers between minibatches alone, all who ask before it goes on.

On the graph bipartite-exponential odd learners ask and even ones answer; these apply a gradient of
their own at the end of the exchange that they are in, or that waits for them, else at
once.  Learner i is there a neighbour of i +- 1 and i +- (1 + 2^k) mod P, 1 <= k <= floor(log2(P -
1)), if one of the two is odd and the other even.  On the other graphs, which are those of d-psgd,
everyone asks and answers: a learner asks one that it hears, when those who asked it before have
been answered, and answers nobody until it has had its own exchange: that is how circles close.

Where learners fail (`cluster.failures`) only neighbours that are left are drawn; who waits for one
that fails draws another, and without one it applies its gradient alone.  A circle ends the run
though one of its learners would fail later.)",
    .source =
        "Lian, Zhang, Zhang, Liu, ICML 2018; bipartite-exponential: the program of Assran, "
        "Loizou, Ballas, Rabbat, ICML 2019",
    .example = R"({"kind": "ad-psgd", "graph": "bipartite-exponential"})"};

constexpr auto nobody = std::numeric_limits<std::uint32_t>::max();

class AdPsgd final : public PeerProtocol {
 public:
  struct Config {
    std::string graph;
    bool overlap = true;
    std::optional<double> pair_cost;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    constexpr std::string_view graphs[] = {"ring", "torus", "exponential", "complete",
                                           "bipartite-exponential"};
    visit_graph(fields, config.graph, graphs, learners);
    fields.flag("overlap", config.overlap, Need::defaulted,
                "whether learners compute while they exchange");
    fields.real(
        "pair_cost", config.pair_cost, at_least(0),
        "time of an exchange, in place of what the network says, which then counts bytes alone");
  }

  AdPsgd(const Config& config, std::uint32_t learners)
      : overlap_(config.overlap),
        bipartite_(config.graph == "bipartite-exponential"),
        pair_cost_(config.pair_cost),
        graph_(config.graph, learners) {}

  void start(Peers& peers) override {
    lists_ = NeighbourLists(graph_);
    learners_.assign(graph_.learners(), Learner());
    pairs_.resize(graph_.learners());
    stuck_ = changed_ = false;
    PeerProtocol::start(peers);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    Learner& learner = learners_[arrival.learner];
    if (learner.gradient) {
      learner.next = arrival;
    } else {
      take(peers, arrival);
      go_on(peers, arrival.learner);
    }
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    const auto [asker, other] = pairs_[exchange];
    const auto members = peers.members(exchange);
    const bool both = members.size() == 2, asked = both || members[0] == asker;
    peers.average(members);
    if (asked) apply(peers, asker);
    while ((both || !asked) && !asks(other) && learners_[other].gradient) apply(peers, other);
    if (asked) go_on(peers, asker);
    if (both || !asked) go_on(peers, other);
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    changed_ = true;
    Learner& its = learners_[learner];
    if (its.partner != nobody) leave_line(learner, its.partner);
    std::vector<std::uint32_t> askers;
    for (std::uint32_t next = its.first; next != nobody; next = learners_[next].behind)
      if (next != learner) askers.push_back(next);
    const std::uint32_t choices = its.choices;
    its = {};
    its.choices = choices;
    for (const std::uint32_t asker : askers) {  // who are to ask another
      Learner& waiting = learners_[asker];
      waiting.partner = nobody;
      waiting.behind = std::exchange(waiting.first, asker);
      if (waiting.behind == nobody) waiting.last = asker;
    }
    for (const std::uint32_t asker : askers) go_on(peers, asker);
  }

  std::vector<std::uint32_t> neighbours(std::uint32_t learner) const override {
    return graph_.kind() == "complete" ? std::vector<std::uint32_t>{} : graph_.hears(learner);
  }

  /// A learner that asks does so again an exchange later at the earliest, and without overlap a
  /// minibatch after that.  Where exchanges overlap and take no time nobody waits; then between a
  /// value's reading and its use come, where it asks, an average and a step for its last gradient
  /// and an average for its own; where it answers, a step and the averages of those who asked it
  /// meanwhile, in all as many as gradients of learners that ask:
  ///
  ///     (4 asking + answering) / (asking + answering),   their minibatches a unit of time,
  ///
  /// if no two learners are ready at once.  On the other graphs all come to a standstill.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    const auto [shortest, longest] = exchange_times(conditions.network);
    if (shortest == longest) theory.exchange_time = shortest;
    if (!bipartite_ || (!conditions.law && conditions.means.empty())) return theory;
    double asking = 0, answering = 0;
    for (std::uint32_t number = 0; number < conditions.learners; ++number) {
      const double m = conditions.law ? conditions.law->mean() : conditions.means[number];
      const double busy = overlap_ ? std::max(m, shortest) : m + shortest;
      (asks(number) ? asking : answering) += 1 / (asks(number) ? busy : m);
    }
    const bool free = overlap_ && longest == 0;
    theory.iteration_time = {{1 / (asking + answering), free ? Basis::exact : Basis::lower}};
    if (free && !conditions.ties)
      theory.staleness = (4 * asking + answering) / (asking + answering);
    return theory;
  }

  Traits traits() const override {
    return {.exchange = Traits::Exchange::of_pairs, .goes_on_without = true, .begins_alone = true};
  }

 private:
  struct Learner {
    std::optional<GradientFacts> gradient;  // not applied
    std::optional<GradientFacts> next;      // the one after, for which it waits
    std::uint32_t choices = 0;
    std::uint32_t partner = nobody;               // that it waits for
    std::uint32_t first = nobody, last = nobody;  // of those who ask for it, itself too
    std::uint32_t behind = nobody;                // it, where it asks
  };
  struct Pair {
    std::uint32_t asker, other;
  };

  /// The shortest and the longest, undisturbed.
  std::pair<double, double> exchange_times(const PeerNetwork* network) const {
    if (pair_cost_) return {*pair_cost_, *pair_cost_};
    if (!network) return {0, 0};
    const auto between = [&](std::uint32_t one, std::uint32_t other) {
      return undisturbed(*network, pair_transfer(*network, one, other, network->model_bytes));
    };
    if (!network->regions.empty()) {
      std::pair<double, double> extremes(between(0, 0), between(0, 0));
      for (std::uint32_t one = 0; one < graph_.learners(); one += network->per_node) {
        for (std::uint32_t other = 0; other <= one; other += network->per_node) {
          extremes.first = std::min(extremes.first, between(one, other));
          extremes.second = std::max(extremes.second, between(one, other));
        }
      }
      return extremes;
    }
    const auto with = [&](std::uint32_t other) { return between(0, other); };
    const std::uint32_t far = network->per_node;  // the first of the next node
    const bool apart = far > 0 && far < graph_.learners();
    return std::minmax({with(1), with(apart ? far : 1)});
  }

  bool asks(std::uint32_t number) const { return !bipartite_ || number % 2 == 1; }

  bool is_busy(const Peers& peers, std::uint32_t number) const {
    return peers.exchanging(number) || learners_[number].partner != nobody ||
           (!overlap_ && peers.computing(number));
  }

  /// That gradient is the learner's to apply next.
  void take(Peers& peers, const GradientFacts& gradient) {
    learners_[gradient.learner].gradient = gradient;
    if (overlap_) peers.compute(gradient.learner);
    if (asks(gradient.learner)) line_up(gradient.learner, gradient.learner);
  }

  void apply(Peers& peers, std::uint32_t number) {
    Learner& learner = learners_[number];
    peers.step(*std::exchange(learner.gradient, {}));
    if (learner.next) take(peers, *std::exchange(learner.next, {}));
  }

  /// What the learner can do if it is free.
  void go_on(Peers& peers, std::uint32_t number) {
    if (stuck_ || is_busy(peers, number)) return;
    Learner& learner = learners_[number];
    if (learner.first != nobody) return answer(peers, number);
    if (learner.gradient) apply(peers, number);
    if (!overlap_) peers.compute(number);
  }

  void line_up(std::uint32_t asker, std::uint32_t number) {
    Learner& learner = learners_[number];
    learners_[asker].behind = nobody;
    (learner.first == nobody ? learner.first : learners_[learner.last].behind) = asker;
    learner.last = asker;
  }

  /// The first who asks for the learner has it.
  void answer(Peers& peers, std::uint32_t number) {
    const std::uint32_t asker = learners_[number].first;
    learners_[number].first = learners_[asker].behind;
    if (asker == number) return ask(peers, number);
    learners_[asker].partner = nobody;
    pairs_[peers.pair(asker, number, pair_cost_)] = {asker, number};
  }

  void leave_line(std::uint32_t asker, std::uint32_t number) {
    std::uint32_t before = nobody, at = learners_[number].first;
    while (at != asker) at = learners_[before = at].behind;
    const std::uint32_t after = learners_[asker].behind;
    (before == nobody ? learners_[number].first : learners_[before].behind) = after;
    if (after == nobody) learners_[number].last = before;
  }

  /// One that is present, at random; nobody: none is.
  std::uint32_t partner_of(Peers& peers, std::uint32_t number) {
    const auto neighbours = lists_.hears(number);
    Stream random = peers.random(number, learners_[number].choices++);
    if (!changed_) return neighbours[uniform_below(random, neighbours.size())];
    present_.clear();
    for (const std::uint32_t other : neighbours.all())
      if (std::ranges::binary_search(peers.present(), other)) present_.push_back(other);
    if (present_.empty()) return nobody;
    return present_[uniform_below(random, static_cast<std::uint32_t>(present_.size()))];
  }

  void ask(Peers& peers, std::uint32_t number) {
    const std::uint32_t partner = partner_of(peers, number);
    if (partner == nobody) {
      apply(peers, number);
      return go_on(peers, number);
    }
    learners_[number].partner = partner;
    line_up(number, partner);
    go_on(peers, partner);
    if (!stuck_) look_for_circle(peers, number);
  }

  /// Of learners who wait for each other, the last of whom began to.
  void look_for_circle(Peers& peers, std::uint32_t number) {
    circle_.clear();
    std::uint32_t at = number;
    do {
      circle_.push_back(at);
      at = learners_[at].partner;
    } while (at != nobody && at != number);
    if (at == nobody) return;
    stuck_ = true;
    peers.deadlock(circle_);
  }

  const bool overlap_, bipartite_;
  const std::optional<double> pair_cost_;
  const Graph graph_;

  // Of a run.
  NeighbourLists lists_;
  std::vector<Learner> learners_;
  std::vector<Pair> pairs_;                      // [exchange], of those under way
  bool stuck_ = false, changed_ = false;         // changed: somebody has left
  std::vector<std::uint32_t> circle_, present_;  // kept for their memory
};

}  // namespace

extern const ProtocolEntry ad_psgd_entry{page, read_protocol<AdPsgd>};

}  // namespace gradrace
