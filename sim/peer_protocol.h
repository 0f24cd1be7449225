#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "sim/evaluation.h"
#include "sim/gradient_facts.h"
#include "sim/peer_network.h"
#include "sim/protocol.h"
#include "sim/random.h"

namespace gradrace {

/// What becomes of an optimiser's state (velocity, moments) where parameters are averaged.
enum class MomentumState : std::uint8_t {
  kept,     // each learner's own
  reset,    // that of the start
  averaged  // as the parameters
};

/// What the members of a collective have to share.
enum class Payload : std::uint8_t {
  models,
  messages,    // of gradients or models, where learners make those; then step_all(), average_sent()
  activations  // of which each member has a part: half of a collective, for which it does not
               // compute
};

/// What a protocol without a server knows of the learners, each of which has a value of its own,
/// and may order them to do, at one instant of simulated time.
///
/// The age of a learner's value is the number of its changes: steps and averages.  Staleness of a
/// gradient: changes of its learner's value between reading and use.
///
/// Checks: a learner is in one exchange at a time; the weights of an average add to 1.
class Peers {
 public:
  virtual ~Peers() = default;

  virtual std::uint32_t learners() const = 0;
  /// The clock.
  virtual double time() const = 0;
  virtual const Work& work() const = 0;
  /// Number of updates made.
  virtual std::uint64_t updates() const = 0;
  /// Learners of a node, numbered node by node; all where the network has no nodes.
  virtual std::uint32_t per_node() const = 0;

  /// Those who take part, in ascending order: none that has failed, and none that is back until it
  /// computes.
  virtual std::span<const std::uint32_t> present() const = 0;

  /// The idle learner starts its next minibatch at its value.  One that is back has that of the
  /// learner that it has copied or, once that has failed, of the lowest-numbered of its neighbours
  /// that are present.
  virtual void compute(std::uint32_t learner) = 0;
  /// The same of one that is back, at that step, from 0 at the last start(), of those that learners
  /// make together.  Without a step it is where the learner is that it copies.
  virtual void compute(std::uint32_t learner, std::uint64_t step) = 0;
  /// The same for every learner that is present or back, in the order of their numbers; all are
  /// idle.  They may have to wait first, where checkpoints are written.
  virtual void compute_all() = 0;
  /// Whether the learner leaves in place of such a minibatch, as it knows that it will fail.
  virtual bool leaves(std::uint32_t /*learner*/) const { return false; }
  /// The learner's minibatch; null if it is idle.
  virtual const GradientFacts* computing(std::uint32_t learner) const = 0;
  /// When the minibatch that it computes will be there.
  virtual double due(std::uint32_t learner) const = 0;

  virtual ValueId value(std::uint32_t learner) const = 0;
  /// The learner's value becomes that one.
  virtual void set(std::uint32_t learner, ValueId value) = 0;
  /// eta of a fresh gradient, now; NaN without a model.
  virtual double rate() const = 0;
  /// The random numbers of the learner's choice of that number; a learner has as many choices as it
  /// has made steps.
  virtual Stream random(std::uint32_t learner, std::uint32_t number) const = 0;

  /// The value of the gradient's learner moves by it, which has arrived.
  virtual void step(const GradientFacts& gradient) = 0;
  /// The learner does not make so many of the steps that learners make together, while others may:
  /// it is beyond them.
  virtual void skip(std::uint32_t learner, std::uint32_t steps) = 0;
  /// Learners that all hold one value move it by the mean of their gradients, in that order; each
  /// may have several.
  virtual void step_all(std::span<const GradientFacts> gradients) = 0;

  /// The sum of weight times parameters over the terms, in that order, with the optimiser's state
  /// of base.  The weights add to 1; a term of weight 0 is left out.  What is a sum of one value
  /// alone is that value, unless another state is to be kept; learners who set the same sum one
  /// after another hold one value, unless it has state.
  virtual ValueId average(ValueId base, std::span<const Term> terms) = 0;
  /// `base`, whose learnt parameters become that sum.
  virtual ValueId move(ValueId base, std::span<const Term> terms) = 0;
  /// Each member's value becomes that sum, with the optimiser's state as is said.  Members ascend.
  virtual void average(std::span<const std::uint32_t> members, std::span<const Term> terms,
                       MomentumState state) = 0;
  /// Each member's learnt parameters become that sum; statistics of batch normalisation and the
  /// optimiser's state stay its own.
  virtual void move(std::span<const std::uint32_t> members, std::span<const Term> terms) = 0;
  /// Each member's value becomes the mean of theirs.
  void average(std::span<const std::uint32_t> members, MomentumState state = MomentumState::kept) {
    mean_.clear();
    for (const std::uint32_t learner : members)
      mean_.push_back({value(learner), 1.0 / static_cast<double>(members.size())});
    average(members, mean_, state);
  }

  /// The same of values that are sent as far as they are from `base`, which all have, where
  /// messages are made; average() else.
  virtual void average_sent(std::span<const std::uint32_t> members, ValueId base,
                            MomentumState state) = 0;
  /// Those messages are made now, before the collective that carries them, where their bytes depend
  /// on what they say.
  virtual void send_models(std::span<const std::uint32_t> /*members*/, ValueId /*base*/) {}
  /// Whether they are.
  virtual bool makes_messages() const = 0;

  /// The members, who ascend, begin an exchange of that share of the payload's bytes, a collective;
  /// the protocol's on_exchange() is told the number that is returned when it has ended.
  virtual std::uint32_t collective(std::span<const std::uint32_t> members, double share = 1,
                                   Payload payload = Payload::models) = 0;
  /// The two exchange their models, or so many times their bytes; `time`: how long that takes, in
  /// place of what the network says.
  virtual std::uint32_t pair(std::uint32_t a, std::uint32_t b, std::optional<double> time = {},
                             double share = 1) = 0;
  /// The learner gets the models, or such a share of their bytes, of those that it hears, and sends
  /// its own to as many, by whom it is heard.
  virtual std::uint32_t gossip(std::uint32_t learner, std::span<const std::uint32_t> hears,
                               std::span<const std::uint32_t> heard_by, double share = 1) = 0;
  /// A model goes from the learner to a coordinator, a place that is no learner, or comes from
  /// there.
  virtual std::uint32_t message(std::uint32_t learner, Towards towards) = 0;
  /// Who are in that exchange, which is under way or has just ended: those who began it, but for
  /// such as have failed.
  virtual std::span<const std::uint32_t> members(std::uint32_t exchange) const = 0;
  /// Whether the learner is in an exchange.
  virtual bool exchanging(std::uint32_t learner) const = 0;
  /// A group that the learner asked for could not begin, as members were in another one.
  virtual void count_conflict(std::uint32_t learner) = 0;

  /// A coordinator has made an update of what a learner brought, which had read its value so many
  /// updates before.
  virtual void count_outer_update(std::uint32_t staleness) = 0;

  /// on_timer() is called at that time, after all arrivals and ends of exchanges of then.  One
  /// timer is open at a time: another replaces it, and infinity calls it off.
  virtual void timer(double time) = 0;
  /// The value that evaluations look at is evaluated at that time, and on_evaluation() told what
  /// came out.  One such order is open at a time: another replaces it, and infinity calls it off.
  virtual void evaluate_at(double time) = 0;

  /// From now on minibatches and steps are made as Protocol::changes()[plan - 1] has it; plan 0 is
  /// the scenario's.
  virtual void follow(std::uint16_t plan) = 0;

  /// Those learners wait for each other, in a circle: the run ends here.
  virtual void deadlock(std::span<const std::uint32_t> circle) = 0;

 private:
  std::vector<Term> mean_;  // kept for its memory
};

/// The learners 0 ... P - 1.
inline std::vector<std::uint32_t> everyone(std::uint32_t learners) {
  std::vector<std::uint32_t> all(learners);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

/// A protocol without a server: learners compute, step, exchange and average.
///
/// Contract: as that of a ServerProtocol.
class PeerProtocol : public Protocol {
 public:
  /// t = 0, or nobody is left and some are back: all hold one model, the initial one or a copy, and
  /// are idle.  State for each learner is allocated here, not in the constructor: a scenario's
  /// reader makes protocols for their theory alone.
  virtual void start(Peers& peers) { peers.compute_all(); }

  /// A learner finished a minibatch and is idle now.
  virtual void on_gradient(Peers& peers, const GradientFacts& arrival) = 0;

  /// That exchange has ended: its members are free.
  virtual void on_exchange(Peers& /*peers*/, std::uint32_t /*exchange*/) {}

  /// The time of Peers::timer() has come.
  virtual void on_timer(Peers& /*peers*/) {}

  /// The learner, which was present, has failed; others are present.  Its minibatch and its
  /// gradients that have moved nothing are lost, its exchange goes on without it or, where it was
  /// alone, not at all.  Where the last one fails start() is called when one is back, and then
  /// this of each that is not.
  virtual void on_leave(Peers& /*peers*/, std::uint32_t /*learner*/) {}

  /// The learner is back.
  virtual void on_return(Peers& peers, std::uint32_t learner) { peers.compute(learner); }

  /// Whom it may copy when it is back, in ascending order; empty: anybody.
  virtual std::vector<std::uint32_t> neighbours(std::uint32_t /*learner*/) const { return {}; }

  /// Itself as it is, from which it can go on; of one with the trait `goes_back`.
  virtual std::unique_ptr<PeerProtocol> copy() const { return nullptr; }

  /// The answer to Peers::evaluate_at(), at that time.
  virtual void on_evaluation(Peers& /*peers*/, const Evaluation& /*evaluation*/) {}

  /// The value that evaluations look at, but where an ema is; none: the mean of the learners'
  /// values.
  virtual std::optional<ValueId> evaluated() const { return {}; }

  /// Values that it may name later, besides the learners' own; they are added to `live`.
  virtual void hold(std::vector<ValueId>& /*live*/) const {}

  /// P where learners step together, else 1.
  std::uint32_t k() const override { return 1; }
  std::uint32_t gradients_of_step() const override { return 1; }

  Theory theory(const Conditions&) const override { return {}; }
};

}  // namespace gradrace
