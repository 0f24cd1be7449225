#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/averages/buckets.h"
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

With `buckets` B > 1 the backward pass makes the step part by part, of which part b, a B-th of the
value, is there at

    1 - backward (1 - b / B)

of the minibatch's time, combine-first when it has been averaged, too.  A learner's exchange of a part
begins when it and all that it hears have that part and its part before is done; it averages when all
are, and those that it hears have computed.  Each exchange takes the latency.  With
`cluster.network.layers` these parts are the layers that have parameters, from the last one on, as with
all-reduce.  In a phase of `switch` a value is exchanged whole.

Where learners fail (`cluster.failures`) the weights of absent neighbours are added to the learner's
own.  One that is back has a part from the step on that comes after the one that the neighbour
furthest ahead is at; parts of the graph that were cut off from each other go on by themselves, and
the one ahead waits there.)",
    .source =
        "Lian et al., NIPS 2017 (combine-first); adapt-first: Sayed, Foundations and "
        "Trends in Machine Learning 2014; exponential: Assran et al., ICML 2019; layers: Das et "
        "al., arXiv 1602.06709",
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
  struct Config : Buckets::Config {
    std::string graph;
    bool combines_first = false;
  };
  static void visit(Fields& fields, Config& config, const Setting& setting) {
    constexpr std::string_view graphs[] = {"ring", "torus", "exponential", "complete"};
    visit_graph(fields, config.graph, graphs, setting.learners);
    config.combines_first =
        fields.second_of("order", "adapt-first", "combine-first",
                         "whether a learner steps before the average or after it");
    Buckets::visit(fields, config, setting, "B: parts of a value, exchanged one after the other");
    constexpr std::uint64_t most = 10'000'000;  // each has some numbers
    if (std::uint64_t{config.buckets} * setting.learners >
        std::max<std::uint64_t>(most, setting.learners))
      fields.complain(
          "buckets", "are too many for so many learners, whose parts are told one by one",
          "at most " + std::to_string(std::max<std::uint64_t>(1, most / setting.learners)));
  }

  DPsgd(const Config& config, std::uint32_t learners)
      : config_(config),
        adapt_first_(!config.combines_first),
        directed_(config.graph == "exponential"),
        graph_(config.graph, learners),
        ahead_(static_cast<std::uint32_t>(std::bit_width(learners - 1)) + 1),
        open_(directed_ ? ahead_ : 2),
        parts_(config.parts()),
        early_(config.part(0).backward < 1),
        ends_early_(config.part(parts_ - 1).backward < 1) {}

  void start(Peers& peers) override {
    make_room();
    PeerProtocol::start(peers);
    for (const std::uint32_t learner : peers.present()) {
      if (early_) await_begin(peers, learner);
      if (!adapt_first_) show(peers, learner);
    }
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    const std::uint32_t learner = arrival.learner;
    if (adapt_first_) {
      peers.step(arrival);
      return show(peers, learner);
    }
    learners_[learner].gradient = arrival;
    learners_[learner].has_gradient = true;
    learners_[learner].passed = (learners_[learner].shown + 1) * parts_;
    if (!go_on(peers, learner) && in_parts()) show_parts(peers, learner);
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    const std::uint32_t learner = exchanging_[exchange];
    ++learners_[learner].in;
    if (in_parts()) {
      show_parts(peers, learner);
      begin_exchange(peers, learner);
    }
    go_on(peers, learner);
  }

  void on_timer(Peers& peers) override {
    for (const std::uint32_t learner : std::exchange(looking_, {})) go_on(peers, learner);
    for (const std::uint32_t learner : std::exchange(beginning_, {})) {
      if (!peers.computing(learner)) continue;
      Learner& state = learners_[learner];
      state.begin = peers.time();
      state.length = peers.due(learner) - state.begin;
      await_part(learner);
    }
    while (!due_.empty() && std::get<0>(due_.top()) <= peers.time()) {
      const auto [time, learner, part] = due_.top();
      due_.pop();
      if (learners_[learner].passed != part) continue;  // it has computed all
      const bool is_last = ++learners_[learner].passed % parts_ == 0;
      show_parts(peers, learner);
      if (!is_last) await_part(learner);
    }
    if (!beginning_.empty() || !looking_.empty())
      peers.timer(peers.time());
    else if (!due_.empty())
      peers.timer(std::get<0>(due_.top()));
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    changed_ = true;
    learners_[learner] = {};
    learners_[learner].mixed = learners_[learner].from = never;
    for (const std::uint32_t other : lists_.heard_by(learner).all()) look(peers, other);
  }

  void on_return(Peers& peers, std::uint32_t learner) override {
    std::uint64_t step = learners_[peers.present()[0]].mixed;
    bool alone = true;
    for (const std::uint32_t other : lists_.hears(learner).all()) {
      if (!takes_part(other, never - 1)) continue;
      step = alone ? learners_[other].mixed : std::max(step, learners_[other].mixed);
      alone = false;
    }
    ++step;
    Learner& state = learners_[learner];
    state.shown = state.mixed = state.begun = state.from = state.in = state.parts = step;
    peers.compute(learner, step);
    if (!adapt_first_ && !peers.leaves(learner)) show(peers, learner);
  }

  std::vector<std::uint32_t> neighbours(std::uint32_t learner) const override {
    return graph_.kind() == "complete" ? std::vector<std::uint32_t>{} : graph_.hears(learner);
  }

  Traits traits() const override {
    return {.no_phase = config_.buckets > 1 ? "buckets" : "",
            .exchange = Traits::Exchange::of_neighbours,
            .together = true,
            .parts = parts_,
            .by_layer = true,
            .goes_on_without = true,
            .no_failures = directed_             ? "graph"
                           : config_.buckets > 1 ? "buckets"
                                                 : "",
            .begins_alone = true,
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
  ///
  /// In parts such a step takes what step_time() says of these d + 1, and combine-first, where
  /// parts of the next exchange begin before, at least max(E[X], G).
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = adapt_first_ ? 0.0 : 1.0;
    const std::vector<Exchanges> of_parts = exchanges(conditions.network);
    const Exchanges all = sum(of_parts);
    if (all.alike && !all.disturb) theory.exchange_time = all.longest;
    if (!conditions.law) return theory;
    const Distribution& law = *conditions.law;
    const std::uint32_t P = graph_.learners(), heard = graph_.degree() + 1;
    const bool constant = law.variance() == 0;
    double time = 0;
    if (in_parts()) {
      time = adapt_first_ ? step_in_parts(law, of_parts) : std::max(law.mean(), all.shortest);
    } else if (adapt_first_) {
      const double local = law.expected_order_statistic(heard, heard) + all.shortest;
      time = std::max(law.mean() + all.longest, local);
    } else if (constant) {
      time = std::max(law.mean(), all.longest);
    } else {
      const double hidden = law.expected_capped_order_statistic(1, 1, all.longest);
      time = law.mean() + all.longest - hidden;
    }
    const bool of_all = heard == P && all.alike && (adapt_first_ || P == 1);
    const bool exact = (constant || of_all) && !all.disturb && (all.alike || !in_parts());
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
    std::uint64_t shown = 0;       // values, a step each
    std::uint64_t parts = 0;       // of those, and such as come before the value
    std::uint64_t mixed = 0;       // averages made
    std::uint64_t begun = 0;       // exchanges of parts
    std::uint64_t in = 0;          // of those that have ended
    std::uint64_t from = 0;        // the first step that it has a part in; never: it has failed
    std::uint64_t passed = 0;      // parts that its backward passes have made
    double begin = 0, length = 0;  // of the minibatch that makes the next of them
    GradientFacts gradient;        // combine-first
    bool has_gradient = false;     // not used yet
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
  std::vector<Exchanges> exchanges(const PeerNetwork* network) const {
    std::vector<Exchanges> of_parts;
    for (std::uint32_t number = 0; number < parts_; ++number) {
      const double share = config_.part(number).share;
      const bool as_before = number > 0 && share == config_.part(number - 1).share;
      of_parts.push_back(as_before ? of_parts.back() : exchanges(network, share));
    }
    return of_parts;
  }
  static Exchanges sum(const std::vector<Exchanges>& of_parts) {
    Exchanges all = of_parts[0];
    for (std::size_t i = 1; i < of_parts.size(); ++i) {
      all.shortest += of_parts[i].shortest;
      all.longest += of_parts[i].longest;
      all.alike = all.alike && of_parts[i].alike;
    }
    return all;
  }
  Exchanges exchanges(const PeerNetwork* network, double share) const {
    Exchanges found;
    if (!network) return found;
    const std::uint32_t P = graph_.learners();
    const bool mesh = network->per_node == 0, complete = graph_.degree() == P - 1;
    // Of a complete graph the learners of one node are alike, and so are all nodes but the last,
    // unless they are regions.
    const std::uint32_t apart = complete && network->regions.empty() ? std::max(1u, P - 1) : 1;
    for (std::uint32_t learner = 0; learner < (mesh ? 1 : P); learner += apart) {
      const Transfer transfer =
          neighbour_transfer(*network, learner, graph_.hears(learner), graph_.heard_by(learner),
                             share * network->model_bytes);
      const double time = undisturbed(*network, transfer);
      found.disturb = found.disturb || !transfer.nics.empty();
      found.longest = std::max(found.longest, time);
      found.shortest = learner == 0 ? time : std::min(found.shortest, time);
    }
    found.alike = found.shortest == found.longest;
    return found;
  }

  /// Of a learner and those whom it hears.
  double step_in_parts(const Distribution& law, const std::vector<Exchanges>& of_parts) const {
    std::vector<StepExchange> parts;
    std::vector<double> times;
    for (std::uint32_t number = 0; number < parts_; ++number) {
      parts.push_back(config_.part(number));
      times.push_back(of_parts[number].shortest);
    }
    return *step_time(parts, times, config_.backward,
                      {.learners = graph_.degree() + 1, .law = &law});
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
    there_.assign(std::size_t{P} * open_ * parts_, 0);
    exchanging_.resize(P);
    changed_ = false;
    due_ = {};
    beginning_.clear();
    looking_.clear();
  }

  /// Of a learner's step.  One whose average is not made hears nobody who is ahead of it by more
  /// steps than there are links back from it: ceil(log2 P) in an exponential graph, else 1.
  std::size_t slot(std::uint32_t learner, std::uint64_t step) const {
    return std::size_t{learner} * ahead_ + step % ahead_;
  }
  /// Of a part, counted through all steps; no more of them are open than of as many steps.
  std::size_t slot_of_part(std::uint32_t learner, std::uint64_t part) const {
    return std::size_t{learner} * open_ * parts_ + part % (std::uint64_t{open_} * parts_);
  }

  /// The learner has begun a minibatch: the timer finds out when it is due.
  void await_begin(Peers& peers, std::uint32_t learner) {
    beginning_.push_back(learner);
    peers.timer(peers.time());
  }

  /// Of the learner's minibatch, the next part that is there before its end.
  void await_part(std::uint32_t learner) {
    const Learner& state = learners_[learner];
    const double there =
        config_.part(static_cast<std::uint32_t>(state.passed % parts_)).begins(config_.backward);
    if (there < 1) due_.emplace(state.begin + there * state.length, learner, state.passed);
  }

  /// The learner's value is that of its next step, for all who hear it.
  void show(Peers& peers, std::uint32_t learner) {
    const std::uint64_t step = learners_[learner].shown++;
    shown_[slot(learner, step)] = peers.value(learner);
    if (changed_)
      return with_itself(lists_.heard_by(learner), learner,
                         [&](std::uint32_t other) { look(peers, other); });
    learners_[learner].passed = (step + 1) * parts_;
    show_parts(peers, learner);
    if (!ends_early_) return;
    with_itself(lists_.heard_by(learner), learner,
                [&](std::uint32_t other) { looking_.push_back(other); });
    peers.timer(peers.time());
  }

  bool in_parts() const { return parts_ > 1 || early_; }

  /// What is made; combine-first what is averaged, too.
  void show_parts(Peers& peers, std::uint32_t learner) {
    Learner& state = learners_[learner];
    const std::uint64_t ready =
        adapt_first_ ? state.passed : std::min(state.passed, state.in + parts_);
    while (state.parts < ready) {
      const std::uint64_t part = state.parts++;
      with_itself(lists_.heard_by(learner), learner,
                  [&](std::uint32_t other) { tell(peers, other, part); });
    }
  }

  /// One more of those is there for the learner.
  void tell(Peers& peers, std::uint32_t learner, std::uint64_t part) {
    if (++there_[slot_of_part(learner, part)] > lists_.hears(learner).size())
      begin_exchange(peers, learner);
  }

  /// Of the next part, if all are there and the one before is done.
  void begin_exchange(Peers& peers, std::uint32_t learner) {
    const Learner& state = learners_[learner];
    std::uint32_t& there = there_[slot_of_part(learner, state.begun)];
    const auto hears = lists_.hears(learner).all(), heard_by = lists_.heard_by(learner).all();
    if (there <= hears.size() || state.begun > state.in) return;
    there = 0;
    heard_.assign(hears.begin(), hears.end());
    heard_by_.assign(heard_by.begin(), heard_by.end());
    exchange(peers, learner);
  }

  void exchange(Peers& peers, std::uint32_t learner) {
    const std::uint64_t part = learners_[learner].begun++;
    const double share =
        parts_ > 1 ? config_.part(static_cast<std::uint32_t>(part % parts_)).share : 1;
    exchanging_[peers.gossip(learner, heard_, heard_by_, share)] = learner;
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

  /// Whether its exchange has ended and all have computed.
  bool may_mix(std::uint32_t learner) const {
    const Learner& state = learners_[learner];
    if (state.in < (state.mixed + 1) * parts_ || (!adapt_first_ && !state.has_gradient))
      return false;
    if (!ends_early_) return true;
    bool all = true;
    with_itself(lists_.hears(learner), learner,
                [&](std::uint32_t other) { all = all && learners_[other].shown > state.mixed; });
    return all;
  }

  /// The learner's exchange, its gradient or, where parts leave before those, another's is there:
  /// whether it goes on.
  bool go_on(Peers& peers, std::uint32_t learner) {
    if (!may_mix(learner)) return false;
    Learner& state = learners_[learner];
    mix(peers, learner);
    if (!adapt_first_) {
      state.has_gradient = false;
      peers.step(state.gradient);
    }
    peers.compute(learner);
    if (early_) await_begin(peers, learner);
    if (!adapt_first_ && !peers.leaves(learner)) show(peers, learner);
    return true;
  }

  const Config config_;
  const bool adapt_first_, directed_;
  const Graph graph_;
  const std::uint32_t ahead_;      // steps of a learner that are kept,
  const std::uint32_t open_;       // and of which parts are told before all of one are there
  const std::uint32_t parts_;      // of a value
  const bool early_, ends_early_;  // the first of them, and the last, is there before the value

  // Of a run.
  NeighbourLists lists_;
  std::vector<Learner> learners_;
  bool changed_ = false;                   // somebody has left
  std::vector<ValueId> shown_;             // [slot]
  std::vector<std::uint32_t> there_;       // [slot_of_part]: that the learner can hear
  std::vector<std::uint32_t> exchanging_;  // [exchange]: whose
  using Due = std::tuple<double, std::uint32_t, std::uint64_t>;     // when, whose, the how many-th
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // parts
  std::vector<std::uint32_t> beginning_;                            // minibatches, now
  std::vector<std::uint32_t> looking_;                              // whether they may go on
  std::vector<std::uint32_t> heard_, heard_by_;  // kept for their memory, as are the terms
  std::vector<Term> terms_;
};

MakeProtocol read(Fields& fields, const Setting& setting) {
  DPsgd::Config config;
  DPsgd::visit(fields, config, setting);
  if (!fields.good()) return {};
  return
      [config, learners = setting.learners] { return std::make_unique<DPsgd>(config, learners); };
}

}  // namespace

extern const ProtocolEntry d_psgd_entry{page, read};

}  // namespace gradrace
