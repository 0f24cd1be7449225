#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/learning_rate.h"
#include "sim/tape.h"
#include "sim/theory.h"

namespace gradrace {

/// A change of the training while it runs; what is empty stays as the scenario has it.
struct Change {
  std::shared_ptr<const LearningRate> learning_rate;
  std::optional<double> momentum;
  std::optional<std::uint32_t> minibatch;
  bool from_rest = false;  // of each update; see Rule
};

/// What a protocol is, as its keys have it: said once, for all who ask.
struct Traits {
  bool needs_evaluations = false;  // asks for evaluations: it needs a model
  bool needs_epochs = false;       // goes by epochs: it needs a training set, be it not trained on

  // With a server.
  bool takes_all = false;  // every update waits for all learners: a phase may leave some out
  /// Every update takes the first K gradients of minibatches that all learners begin at the start
  /// or at the update before, and the others are cancelled then: the times between updates are
  /// independent draws of X_{K:P} if runtimes are of X.
  bool restarts_all = false;
  /// Every gradient is an update when it arrives and its learner goes on at once: start() and
  /// on_gradient() order dispatch_waiting(), and apply() and dispatch().
  bool never_waits = false;
  /// Orders updates of all that arrives, and after them dispatches, and nothing else: each shard of
  /// a server may follow it by itself.
  bool by_shard = false;
  bool pauses = false;             // orders pauses
  bool fewer_than_k = false;       // an update may have fewer than K gradients
  std::string_view no_phase = {};  // its key with which it may not be a phase of `switch`
  bool bounds_staleness = false;
  std::uint32_t local_steps = 1;  // tau: a learner makes so many steps before it sends what they
                                  // add up to; see Race
  bool k_varies = false;          // k() is that of the beginning: theory of the error is not known
  bool in_python = false;         // of a user's file, which its page's example only names

  // Without one.
  enum class Exchange : std::uint8_t { collective, of_neighbours, of_pairs, with_coordinator };
  Exchange exchange = Exchange::collective;  // all or some of them
  bool together = false;  // update n is made when the last learner has made its n-th step, else
                          // every step is one; of `switch`: the phase that runs
  bool sends_messages = false;        // all that it exchanges may be messages,
  std::uint32_t parts = 1;            // each in so many parts
  bool one_value = false;             // learners have one value, the optimiser's state included
  bool by_layer = false;              // it exchanges layer by layer where a network has layers
  bool asks_for_groups = false;       // which may be in conflict
  bool one_group = false;             // all learners, in every exchange
  bool goes_on_without = false;       // learners may fail: see PeerProtocol::on_leave()
  std::string_view no_failures = {};  // its key with which they may not
  /// Learners begin each step, or round, by compute_all(), after which the protocol does nothing
  /// that bears on how a copy() of it, made there, goes on.
  bool goes_back = false;
  /// Learners begin each step by a compute() of their own, in place of which one leaves that knows
  /// that it will fail.
  bool begins_alone = false;
  std::span<const std::string_view> keys_of_values{};  // its keys that are said, by another value
                                                       // than the default, and change no time
  /// It may be a phase of `switch`: start() at any time when all are idle and agree in their
  /// parameters, and it leaves nothing open when minibatches and exchanges have ended.
  bool may_be_phase = false;
  /// What learners do in place of gradients.  Their mean moves the value at the rate step P, once
  /// the last is there.
  std::optional<DualPass> dual = {};

  /// The fewest that it is for.
  std::uint32_t least_learners() const { return exchange == Exchange::of_pairs ? 2 : 1; }
};

/// A synchronisation protocol, as all its users know it: what follows from its keys.  It is a
/// ServerProtocol or a PeerProtocol.
class Protocol {
 public:
  virtual ~Protocol() = default;

  virtual Traits traits() const { return {}; }

  /// What follow() may name.
  virtual std::vector<Change> changes() const { return {}; }

  /// The K in force: gradients in the next update.
  virtual std::uint32_t k() const = 0;

  /// Gradients that move a value at once: a learning rate's `scale` goes by them.
  virtual std::uint32_t gradients_of_step() const { return k(); }

  /// Of the file that it is made of; empty: of none.  RunError where that is not there.
  virtual std::string data_hash() const { return {}; }

  /// What it knows under those conditions.
  virtual Theory theory(const Conditions& conditions) const = 0;
  /// What its averages do, if learners have values of their own.
  virtual std::optional<Mixing> mixing() const { return {}; }
};

}  // namespace gradrace
