#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/make_protocol.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "async-local-sgd",
    .definition = R"(Every learner reads the model x of a coordinator, makes `tau` steps of its own
from there to y, and sends that.  The coordinator takes an outer step at once, alone with what this
learner has brought, and the learner begins anew at the newest x.  Nobody waits for another.

Delayed Nesterov: with the pseudo-gradient g = x_read - y, number t = 0, 1, ..., and of `outer` eta,
beta (`momentum`), N (`period`) and c (`activation`),

    b = b + g
    if (t + 1) mod N = 0:  m = beta m + b / N,  x = x - eta ((1 - c N + c) beta m + g / N),  b = 0
    else:                  x = x - eta (c beta m + g / N)

With N = 1 every arrival is a step of Nesterov's momentum; with N the number of learners momentum
moves once for about one pseudo-gradient of each.  The outer step moves learnt parameters.
Statistics of batch normalisation are those of the learner that came last, and the optimiser's state
stays each learner's own.

DyLU (`dylu`): learner l of mean speed v_l makes max(1, floor(tau v_l / max v)) steps, so that rounds
take about equally long.

Grace: the first model that comes to a coordinator at which nobody waits opens a window of `grace`;
learners whose models come in it wait for its end, and all go on from what x is then.

A model takes a message to the coordinator, and one back: latency and bytes of the learner's link
to it, as to another learner.  It stands in the first node or region of a network that has those,
is no learner, and takes no time; others' messages slow one down on a shared network card alone.

Evaluations look at x, and disagreement is from it; with an ema at the mean of the learners'
averages, as without a coordinator.  Every gradient of a learner is an update; columns named outer
count steps of x, whose staleness is how many others were made since x_read.

Its synchronous counterpart, DiLoCo, is `local-sgd` with `outer`.)",
    .source =
        "Liu, Chhaparia, Douillard et al., Asynchronous Local-SGD Training for Language Modeling, "
        "arXiv 2401.09135, algorithms 2 to 4; the iteration time: derived",
    .example =
        R"({"kind": "async-local-sgd", "tau": 4, "outer": {"eta": 0.7, "momentum": 0.9, "period": 8}})"};

struct Outer {
  double eta = 1, momentum = 0;
  std::uint32_t period = 1;
  double activation = 0;
};

struct Config {
  std::uint32_t tau = 1;
  bool has_outer = false, dylu = false;
  Outer outer;
  double grace = 0;
};

/// [learner]: steps of a round.
using Steps = std::vector<std::uint32_t>;

class AsyncLocalSgd final : public PeerProtocol {
 public:
  /// `dylu`: null where all make tau.
  AsyncLocalSgd(const Config& config, std::shared_ptr<const Steps> dylu, std::uint32_t learners)
      : config_(config), dylu_(std::move(dylu)), learners_(learners) {}

  void start(Peers& peers) override {
    x_0_ = x_ = momentum_ = buffer_ = peers.value(0);
    at_.assign(learners_, {.read = x_});
    waiting_.clear();
    updates_ = 0;
    peers.compute_all();
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    Learner& learner = at_[arrival.learner];
    peers.step(arrival);
    if (++learner.steps < steps_of(arrival.learner)) return peers.compute(arrival.learner);
    learner.brings = true;
    peers.message(arrival.learner, Towards::coordinator);
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    const std::uint32_t learner = peers.members(exchange)[0];
    if (at_[learner].brings) return arrive(peers, learner);
    const Term read{at_[learner].read, 1};
    peers.average({&learner, 1}, {&read, 1}, MomentumState::kept);
    peers.compute(learner);
  }

  void on_timer(Peers& peers) override {
    for (const std::uint32_t learner : waiting_) answer(peers, learner);
    waiting_.clear();
  }

  Traits traits() const override {
    static constexpr std::string_view of_values[] = {"outer"};
    return {.exchange = Traits::Exchange::with_coordinator,
            .keys_of_values = std::span(of_values).first(config_.has_outer)};
  }

  std::optional<ValueId> evaluated() const override { return x_; }

  void hold(std::vector<ValueId>& live) const override {
    live.insert(live.end(), {x_0_, x_, momentum_, buffer_});
    for (const Learner& learner : at_) live.push_back(learner.read);
  }

  /// A round of a learner is its minibatches and two messages, and rounds of different learners are
  /// independent: their rates add up.  A window, or cards that messages share, can but slow it.
  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    if (!conditions.law && conditions.means.empty()) return theory;
    double rate = 0;
    bool exact = config_.grace == 0;
    for (std::uint32_t l = 0; l < learners_; ++l) {
      const double mean = conditions.law ? conditions.law->mean() : conditions.means[l];
      double messages = 0;
      for (const Towards towards : {Towards::coordinator, Towards::learner}) {
        if (!conditions.network) break;
        const Transfer transfer =
            coordinator_transfer(*conditions.network, l, towards, conditions.network->model_bytes);
        messages += undisturbed(*conditions.network, transfer);
        exact = exact && transfer.nics.empty();
      }
      rate += steps_of(l) / (steps_of(l) * mean + messages);
    }
    theory.iteration_time = {{1 / rate, exact ? Basis::exact : Basis::lower}};
    return theory;
  }

 private:
  struct Learner {
    ValueId read = 0;              // the model that it began with, or will begin with
    std::uint64_t read_after = 0;  // so many outer updates
    std::uint32_t steps = 0;       // since then
    bool brings = false;           // its exchange is one to the coordinator
  };

  std::uint32_t steps_of(std::uint32_t learner) const {
    return dylu_ ? (*dylu_)[learner] : config_.tau;
  }

  void arrive(Peers& peers, std::uint32_t learner) {
    outer_step(peers, at_[learner].read, peers.value(learner));
    peers.count_outer_update(static_cast<std::uint32_t>(updates_ - at_[learner].read_after));
    ++updates_;
    if (config_.grace == 0) return answer(peers, learner);
    if (waiting_.empty()) peers.timer(peers.time() + config_.grace);
    waiting_.push_back(learner);
  }

  void answer(Peers& peers, std::uint32_t learner) {
    at_[learner] = {.read = x_, .read_after = updates_};
    peers.message(learner, Towards::learner);
  }

  /// With x_0 + m and x_0 + beta m + (b so far) / N as values, by averages:
  ///
  ///     buffer' = buffer + (read - y) / N
  ///     x' = x - (eta / N) (read - y) - eta share beta (momentum' - x_0).
  void outer_step(Peers& peers, ValueId read, ValueId y) {
    const auto& [eta, beta, period, activation] = config_.outer;
    const double part = 1.0 / period;
    const bool begins = updates_ % period == 0, ends = (updates_ + 1) % period == 0;
    if (beta > 0) {
      terms_.clear();
      if (begins)
        terms_ = {{momentum_, beta}, {x_0_, 1 - beta}};
      else
        terms_ = {{buffer_, 1}};
      terms_.insert(terms_.end(), {{read, part}, {y, -part}});
      buffer_ = peers.average(x_0_, terms_);
      if (ends) momentum_ = buffer_;
    }
    const double share = ends ? 1 - activation * period + activation : activation;
    const double along = eta * part, ahead = eta * share * beta;
    terms_ = {{x_, 1}, {read, -along}, {y, along}, {momentum_, -ahead}, {x_0_, ahead}};
    x_ = peers.move(y, terms_);
  }

  const Config config_;
  const std::shared_ptr<const Steps> dylu_;
  const std::uint32_t learners_;

  // Of a run.
  ValueId x_0_ = 0, x_ = 0, momentum_ = 0, buffer_ = 0;
  std::uint64_t updates_ = 0;  // of x
  std::vector<Learner> at_;
  std::vector<std::uint32_t> waiting_;  // for the end of the window, in the order of their coming
  std::vector<Term> terms_;             // kept for its memory
};

void visit_outer(Fields& fields, Config& config) {
  if (!fields.open("outer", Need::none,
                   "the coordinator's steps (default: x goes as far as the learner went)"))
    return;
  config.has_outer = true;
  Outer& outer = config.outer;
  fields.real("eta", outer.eta, Need::defaulted, positive(), "outer learning rate");
  fields.real("momentum", outer.momentum, Need::defaulted, from_below(0, 1), "outer momentum");
  fields.integer("period", outer.period, Need::defaulted, at_least(1),
                 "N: arrivals from one step of the momentum to the next");
  fields.real("activation", outer.activation, Need::defaulted,
              between(0, 1.0 / outer.period, "1 / outer.period"),
              "c: share of the momentum in steps between those");
  fields.idle("activation", outer.activation > 0 && outer.momentum == 0,
              "says nothing without the outer momentum", "momentum > 0 beside it, or 0");
  fields.idle("activation", outer.activation > 0 && outer.period == 1,
              "says nothing where the momentum moves at every arrival",
              "period > 1 beside it, or 0");
  fields.close();
}

/// A number that is whole but for rounding is so.
std::shared_ptr<const Steps> equal_rounds(std::uint32_t tau, const std::vector<double>& means) {
  const double shortest = std::ranges::min(means);
  Steps steps;
  for (const double mean : means)
    steps.push_back(
        static_cast<std::uint32_t>(std::fmax(1, std::floor(tau * shortest / mean * (1 + 1e-12)))));
  return std::make_shared<const Steps>(std::move(steps));
}

std::shared_ptr<const Steps> read_dylu(Fields& fields, Config& config, const Setting& setting) {
  fields.flag("dylu", config.dylu, Need::defaulted,
              "learners make as many steps of tau as they are fast");
  if (!config.dylu) return nullptr;
  const std::vector<double> means = setting.means ? setting.means() : std::vector<double>();
  const bool known = !means.empty() && std::ranges::all_of(means, [](double mean) {
    return mean > 0 && std::isfinite(mean);
  });
  if (!known) {
    fields.complain("dylu",
                    "goes by the mean time of each learner's minibatches, which is not known here",
                    "false; or independent runtimes");
    return nullptr;
  }
  auto steps = equal_rounds(config.tau, means);
  fields.idle("dylu", std::ranges::min(*steps) == config.tau,
              "says nothing, as every learner makes tau steps", "false");
  return steps;
}

MakeProtocol read(Fields& fields, const Setting& setting) {
  Config config;
  fields.integer("tau", config.tau, Need::required, at_least(1),
                 "steps that a learner makes with what it has read");
  visit_outer(fields, config);
  const auto dylu = read_dylu(fields, config, setting);
  fields.real("grace", config.grace, Need::defaulted, between(0, 1e100),
              "time from the first model to come until learners whose models have come go on");
  if (!fields.good()) return {};
  return [config, dylu, learners = setting.learners] {
    return std::make_unique<AsyncLocalSgd>(config, dylu, learners);
  };
}

}  // namespace

extern const ProtocolEntry async_local_sgd_entry{page, read};

}  // namespace gradrace
