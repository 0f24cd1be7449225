#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/groups/graph.h"
#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "d-psgd",
    .definition = R"(Decentralised parallel SGD: a learner averages its value with those of its
neighbours in `graph` once a step, all with the weight 1 / (degree + 1), and waits for its
neighbours alone.  With x_i the value of learner i and g_i a gradient there, `order` says

    adapt-first     x_i = sum_j W_ij (x_j - eta g_j(x_j))
    combine-first   x_i = sum_j W_ij x_j - eta g_i(x_i)

A learner's exchange begins when it and all neighbours that it hears have their values of that step:
adapt-first after the gradient, combine-first before it, so that the exchange overlaps with the
computation.  With degree d, latency a, bandwidth 1 / b and S bytes it takes a + d S b.  Each keeps
the state of its own optimiser; a decay of weights acts on what it steps from.

Where learners fail (`cluster.failures`) the weights of absent neighbours are added to the learner's
own.  One that is back has a part from the step on that comes after the one that the neighbour
furthest ahead is at; parts of the graph that were cut off from each other go on by themselves, and
the one ahead waits there.)",
    .source =
        "Lian et al., NIPS 2017 (combine-first); adapt-first: Sayed, Foundations and "
        "Trends in Machine Learning 2014; exponential: Assran et al., ICML 2019",
    .example = R"({"kind": "d-psgd", "graph": "ring"})"};

/// Calls for the others, who ascend, and the learner, in order.
template <class Each>
void with_itself(const Others& others, std::uint32_t learner, Each each) {
  std::uint32_t place = 0;
  for (; place < others.size() && others[place] < learner; ++place) each(others[place]);
  each(learner);
  for (; place < others.size(); ++place) each(others[place]);
}

class DPsgd final : public PeerProtocol {
 public:
  struct Config {
    std::string graph;
    bool combines_first = false;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    constexpr std::string_view graphs[] = {"ring", "torus", "exponential", "complete"};
    visit_graph(fields, config.graph, graphs, learners);
    config.combines_first =
        fields.second_of("order", "adapt-first", "combine-first",
                         "whether a learner steps before the average or after it");
  }

  DPsgd(const Config& config, std::uint32_t learners)
      : adapt_first_(!config.combines_first),
        directed_(config.graph == "exponential"),
        graph_(config.graph, learners),
        ahead_(static_cast<std::uint32_t>(std::bit_width(learners - 1)) + 1) {}

  void start(Peers& peers) override {
    make_room();
    PeerProtocol::start(peers);
    if (adapt_first_) return;
    for (const std::uint32_t learner : peers.present()) show(peers, learner);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    const std::uint32_t learner = arrival.learner;
    if (adapt_first_) {
      peers.step(arrival);
      return show(peers, learner);
    }
    learners_[learner].gradient = arrival;
    halfway(peers, learner);
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    const std::uint32_t learner = exchanging_[exchange];
    if (!adapt_first_) return halfway(peers, learner);
    mix(peers, learner);
    peers.compute(learner);
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    changed_ = true;
    learners_[learner] = {};
    learners_[learner].mixed = learners_[learner].from = never;
    for (const std::uint32_t other : lists_.heard_by(learner).all()) look(peers, other);
  }

  void on_return(Peers& peers, std::uint32_t learner) override {
    std::uint64_t step = learners_[peers.present()[0]].begun;
    bool alone = true;
    for (const std::uint32_t other : lists_.hears(learner).all()) {
      if (!takes_part(other, never - 1)) continue;
      step = alone ? learners_[other].begun : std::max(step, learners_[other].begun);
      alone = false;
    }
    ++step;
    Learner& state = learners_[learner];
    state.shown = state.mixed = state.begun = state.from = step;
    peers.compute(learner, step);
    if (!adapt_first_) show(peers, learner);
  }

  std::vector<std::uint32_t> neighbours(std::uint32_t learner) const override {
    return graph_.kind() == "complete" ? std::vector<std::uint32_t>{} : graph_.hears(learner);
  }

  Traits traits() const override {
    return {.exchange = Traits::Exchange::of_neighbours,
            .together = true,
            .goes_on_without = true,
            .no_failures = directed_ ? "graph" : "",
            .may_be_phase = true};
  }
  std::uint32_t k() const override { return graph_.learners(); }

  void hold(std::vector<ValueId>& live) const override {
    for (std::uint32_t learner = 0; learner < learners_.size(); ++learner) {
      for (const std::uint32_t other : lists_.hears(learner).all()) {
        const std::uint64_t first = std::max(learners_[learner].mixed, learners_[other].from);
        for (std::uint64_t step = first; step < learners_[other].shown; ++step)
          live.push_back(shown_[slot(other, step)]);
      }
    }
  }

  /// With G the time of an exchange, whose longest is that of a learner on every circle of waiting:
  /// where all minibatches take c, c + G or, combine-first, max(c, G).  Else that is least with
  /// E[X] or E[max(X, G)], and adapt-first a step back from an average, to the slowest of a learner
  /// and the d that it hears, and so on, takes E[X_{d+1:d+1}] + G: exact where it hears all.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = adapt_first_ ? 0.0 : 1.0;
    const Exchanges all = exchanges(conditions.network);
    if (all.alike && !all.disturb) theory.exchange_time = all.longest;
    if (!conditions.law) return theory;
    const Distribution& law = *conditions.law;
    const std::uint32_t P = graph_.learners(), heard = graph_.degree() + 1;
    const bool constant = law.variance() == 0;
    double time = 0;
    if (adapt_first_) {
      const double local = law.expected_order_statistic(heard, heard) + all.shortest;
      time = std::max(law.mean() + all.longest, local);
    } else if (constant) {
      time = std::max(law.mean(), all.longest);
    } else {
      const double hidden = law.expected_capped_order_statistic(1, 1, all.longest);
      time = law.mean() + all.longest - hidden;
    }
    const bool of_all = heard == P && all.alike && (adapt_first_ || P == 1);
    const bool exact = (constant || of_all) && !all.disturb;
    theory.iteration_time = {{time, exact ? Basis::exact : Basis::lower}};
    theory.in_step = exact && all.alike && (constant || adapt_first_);
    theory.mean_follows_sync = theory.in_step && adapt_first_;
    return theory;
  }

  std::optional<Mixing> mixing() const override {
    Mixing mixing{.eigenvalues = mixing_eigenvalues(graph_), .combine_first = !adapt_first_};
    const double left = 1 - spectral_gap(mixing);
    mixing.rho = left * left;
    return mixing;
  }

 private:
  struct Learner {
    std::uint64_t shown = 0;  // values, a step each
    std::uint64_t mixed = 0;  // averages made
    std::uint64_t begun = 0;  // exchanges
    std::uint64_t from = 0;   // the first step that it has a part in; never: it has failed
    GradientFacts gradient;   // combine-first
    bool half = false;        // combine-first: gradient or exchange is there, and not both
  };

  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  bool takes_part(std::uint32_t learner, std::uint64_t step) const {
    return learners_[learner].from <= step;
  }

  /// The times of the learners' exchanges; `disturb`: they share NICs.
  struct Exchanges {
    double shortest = 0, longest = 0;
    bool alike = true, disturb = false;
  };
  Exchanges exchanges(const PeerNetwork* network) const {
    Exchanges found;
    if (!network) return found;
    const std::uint32_t P = graph_.learners();
    const bool mesh = network->per_node == 0, complete = graph_.degree() == P - 1;
    // Of a complete graph the learners of one node are alike, and so are all nodes but the last,
    // unless they are regions.
    const std::uint32_t apart = complete && network->regions.empty() ? std::max(1u, P - 1) : 1;
    for (std::uint32_t learner = 0; learner < (mesh ? 1 : P); learner += apart) {
      const Transfer transfer = neighbour_transfer(*network, learner, graph_.hears(learner),
                                                   graph_.heard_by(learner), network->model_bytes);
      const double time = undisturbed(*network, transfer);
      found.disturb = found.disturb || !transfer.nics.empty();
      found.longest = std::max(found.longest, time);
      found.shortest = learner == 0 ? time : std::min(found.shortest, time);
    }
    found.alike = found.shortest == found.longest;
    return found;
  }

  void make_room() {
    const std::uint32_t P = graph_.learners();
    lists_ = NeighbourLists(graph_);
    for (std::uint32_t learner = 0; learner < P; ++learner) {
      GRADRACE_CHECK(lists_.hears(learner).size() == lists_.heard_by(learner).size() &&
                         lists_.hears(learner).size() == graph_.degree(),
                     "the columns of W add to 1 as its rows do");
    }
    learners_.assign(P, Learner());
    shown_.resize(std::size_t{P} * ahead_);
    there_.assign(std::size_t{P} * ahead_, 0);
    exchanging_.resize(P);
    changed_ = false;
  }

  /// Of a learner's step.  One whose average is not made hears nobody who is ahead of it by more
  /// steps than there are links back from it: ceil(log2 P) in an exponential graph, else 1.
  std::size_t slot(std::uint32_t learner, std::uint64_t step) const {
    return std::size_t{learner} * ahead_ + step % ahead_;
  }

  /// The learner's value is that of its next step, for all who hear it.
  void show(Peers& peers, std::uint32_t learner) {
    const std::uint64_t step = learners_[learner].shown++;
    shown_[slot(learner, step)] = peers.value(learner);
    if (changed_)
      return with_itself(lists_.heard_by(learner), learner,
                         [&](std::uint32_t other) { look(peers, other); });
    with_itself(lists_.heard_by(learner), learner,
                [&](std::uint32_t other) { tell(peers, other, step); });
  }

  /// One more value of that step is there for the learner.
  void tell(Peers& peers, std::uint32_t learner, std::uint64_t step) {
    std::uint32_t& there = there_[slot(learner, step)];
    const auto hears = lists_.hears(learner).all(), heard_by = lists_.heard_by(learner).all();
    if (++there <= hears.size()) return;
    there = 0;
    heard_.assign(hears.begin(), hears.end());
    heard_by_.assign(heard_by.begin(), heard_by.end());
    exchange(peers, learner);
  }

  void exchange(Peers& peers, std::uint32_t learner) {
    ++learners_[learner].begun;
    exchanging_[peers.gossip(learner, heard_, heard_by_)] = learner;
  }

  /// Once somebody has left: whether all are there for the learner's next exchange.
  void look(Peers& peers, std::uint32_t learner) {
    const Learner& state = learners_[learner];
    const std::uint64_t step = state.mixed;
    if (state.shown <= step || state.begun > step) return;
    heard_.clear();
    for (const std::uint32_t other : lists_.hears(learner).all()) {
      if (!takes_part(other, step)) continue;
      if (learners_[other].shown <= step) return;
      heard_.push_back(other);
    }
    heard_by_ = heard_;
    exchange(peers, learner);
  }

  void mix(Peers& peers, std::uint32_t learner) {
    const std::uint64_t step = learners_[learner].mixed++;
    const auto neighbours = lists_.hears(learner);
    const double weight = 1.0 / (static_cast<double>(neighbours.size()) + 1);
    double own = weight;
    if (changed_)
      for (const std::uint32_t other : neighbours.all())
        if (!takes_part(other, step)) own += weight;
    terms_.clear();
    with_itself(neighbours, learner, [&](std::uint32_t other) {
      if (!changed_ || takes_part(other, step))
        terms_.push_back({shown_[slot(other, step)], other == learner ? own : weight});
    });
    peers.set(learner, peers.average(peers.value(learner), terms_));
  }

  /// Combine-first: the learner's gradient or its exchange is there.
  void halfway(Peers& peers, std::uint32_t learner) {
    Learner& state = learners_[learner];
    state.half = !state.half;
    if (state.half) return;
    mix(peers, learner);
    peers.step(state.gradient);
    peers.compute(learner);
    show(peers, learner);
  }

  const bool adapt_first_, directed_;
  const Graph graph_;
  const std::uint32_t ahead_;  // steps of a learner that are kept

  // Of a run.
  NeighbourLists lists_;
  std::vector<Learner> learners_;
  bool changed_ = false;                   // somebody has left
  std::vector<ValueId> shown_;             // [slot]
  std::vector<std::uint32_t> there_;       // [slot]: values of the step that the learner can hear
  std::vector<std::uint32_t> exchanging_;  // [exchange]: whose
  std::vector<std::uint32_t> heard_, heard_by_;  // kept for their memory, as are the terms
  std::vector<Term> terms_;
};

}  // namespace

extern const ProtocolEntry d_psgd_entry{page, read_protocol<DPsgd>};

}  // namespace gradrace
