#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/catalog.h"
#include "sim/evaluation.h"
#include "sim/gradient_facts.h"
#include "sim/learning_rate.h"
#include "sim/theory.h"

namespace gradrace {

/// What a protocol knows of the parameter server and may order it to do, at one instant of
/// simulated time.
class Server {
 public:
  virtual ~Server() = default;

  virtual std::uint32_t learners() const = 0;
  /// Number of updates made.
  virtual std::uint32_t version() const = 0;
  /// Number of gradients accepted for the next update.
  virtual std::uint32_t accepted() const = 0;
  /// The clock.
  virtual double time() const = 0;
  virtual const Work& work() const = 0;

  /// The idle learner reads the current version and starts its next minibatch.
  virtual void dispatch(std::uint32_t learner) = 0;
  /// The same for every idle learner, in the order of their numbers.
  virtual void dispatch_waiting() = 0;

  /// The gradient goes into the next update.
  virtual void accept(const GradientFacts& arrival) = 0;
  /// The gradient is thrown away.
  virtual void drop(const GradientFacts& arrival) = 0;
  /// The learner's minibatch between dispatch and arrival; null if it is idle, or down.
  virtual const GradientFacts* computing(std::uint32_t learner) const = 0;
  /// A minibatch being computed, or whose gradient is on its way, stops; the gradient never exists,
  /// its learner is idle.  Not from on_evaluation().
  virtual void cancel(const GradientFacts& gradient) = 0;
  /// The same for every minibatch, and for those that are due when their learners are back.
  virtual void cancel_all() = 0;

  /// Applies the average of the accepted gradients: the next version.
  virtual void update() = 0;
  /// The gradient is accepted, and an update made.
  virtual void apply(const GradientFacts& arrival) {
    accept(arrival);
    update();
  }
  /// The server does nothing for so long: gradients that arrive wait, and models of dispatches
  /// ordered from now on leave when it is over.  For a Protocol that pauses().
  virtual void pause(double length) = 0;

  /// on_timer() is called at that time, now or later, after the gradients that arrive then; it
  /// waits its turn behind gradients that the server has not taken up, and while the server is
  /// busy.  One timer is open at a time: another replaces it, and infinity calls it off.
  virtual void timer(double time) = 0;

  /// The model is evaluated at that time, now or later, and on_evaluation() tells what came out:
  /// the timing plane waits for the numbers.  One such order is open at a time; another replaces
  /// it.
  virtual void evaluate_at(double time) = 0;

  /// From now on minibatches and updates are made as Protocol::changes()[plan - 1] has it; plan 0
  /// is the scenario's.
  virtual void follow(std::uint16_t plan) = 0;
};

/// A change of the training while it runs; what is empty stays as the scenario has it.
struct Change {
  std::shared_ptr<const LearningRate> learning_rate;
  std::optional<double> momentum;
  std::optional<std::uint32_t> minibatch;
  bool from_rest = false;  // of each update; see Rule
};

/// A synchronisation protocol, as all its users know it: what follows from its keys.  It is a
/// ServerProtocol or a PeerProtocol.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Whether it asks for evaluations: then it needs a model.
  virtual bool needs_evaluations() const { return false; }

  /// Whether it goes by epochs: then it needs a training set, whose size is known even where no
  /// model is trained.
  virtual bool needs_epochs() const { return false; }

  /// What Server::follow() may name.
  virtual std::vector<Change> changes() const { return {}; }

  /// The K in force: gradients in the next update.
  virtual std::uint32_t k() const = 0;

  /// Gradients that move a value at once: a learning rate's `scale` goes by them.
  virtual std::uint32_t gradients_of_step() const { return k(); }

  /// What it knows under those conditions.
  virtual Theory theory(const Conditions& conditions) const = 0;
  /// What its averages do, if learners have values of their own.
  virtual std::optional<Mixing> mixing() const { return {}; }
};

/// How old gradients are when they are applied, whatever minibatches take, if nothing else takes
/// time.
struct Staleness {
  std::optional<double> mean = {};  // in the long run
  ReadOrder reading = ReadOrder::other;
};

/// The protocol of a parameter server: which gradients enter which update, and who computes when.
///
/// Contract: every call happens at one instant of simulated time; calls arrive in the order of
/// events; a protocol acts on the world only through the Server it is handed, and never sees
/// parameters.
class ServerProtocol : public Protocol {
 public:
  /// t = 0: dispatch the first minibatches.
  virtual void start(Server& server) { server.dispatch_waiting(); }

  /// A learner finished a minibatch and is idle now.
  virtual void on_gradient(Server& server, const GradientFacts& arrival) = 0;

  /// The time of Server::timer() has come.
  virtual void on_timer(Server& /*server*/) {}

  /// The answer to Server::evaluate_at(), at that time.  A new decision takes effect at the next
  /// update.
  virtual void on_evaluation(Server& /*server*/, const Evaluation& /*evaluation*/) {}

  /// True if every update waits for all learners; only then may a phase leave some out.
  virtual bool takes_all() const { return false; }

  /// True if every update takes the first K gradients of minibatches that all learners begin at the
  /// start or at the update before, and the others are cancelled then: the times between updates
  /// are independent draws of X_{K:P} if runtimes are of X.
  virtual bool restarts_all() const { return false; }

  /// True if every gradient is an update when it arrives and its learner goes on at once: start()
  /// and on_gradient() order dispatch_waiting(), and apply() and dispatch().
  virtual bool never_waits() const { return false; }

  /// Whether it orders pauses.
  virtual bool pauses() const { return false; }

  Theory theory(const Conditions& conditions) const final;
  /// Between updates in the long run, where minibatches take independent draws of that law and
  /// nothing else takes time.
  virtual std::optional<Estimate> iteration_time(const Distribution& /*law*/,
                                                 std::uint32_t /*learners*/) const {
    return {};
  }
  /// The same where each learner takes independent draws of a law of its own, of which conditions
  /// have the means.
  virtual std::optional<Estimate> iteration_time_of_unlike(const Conditions& /*conditions*/) const {
    return {};
  }
  virtual Staleness staleness(std::uint32_t /*learners*/) const { return {}; }
  /// Whether an update may have fewer than K gradients.
  virtual bool fewer_than_k() const { return false; }
};

/// The same as that of a server; null where it has none.
inline std::unique_ptr<ServerProtocol> for_server(std::unique_ptr<Protocol> protocol) {
  auto* const found = dynamic_cast<ServerProtocol*>(protocol.get());
  if (found) static_cast<void>(protocol.release());
  return std::unique_ptr<ServerProtocol>(found);
}

/// Makes a fresh protocol for one run.
using MakeProtocol = std::function<std::unique_ptr<Protocol>()>;

/// What the reader of a protocol may know of its race.
struct Setting {
  std::uint32_t learners = 1;                   // P
  std::shared_ptr<const Distribution> runtime;  // null where it is no single law
  WorkBudget budget;
  std::uint32_t per_node = 0;  // learners in a node; 0: there are no nodes
  bool has_state = true;       // the optimiser keeps more than parameters
  double fastest = 0;          // time of a minibatch of the fastest learner; 0: not known
};

using ProtocolEntry = Entry<MakeProtocol, const Setting&>;
using ProtocolCatalog = Catalog<MakeProtocol, const Setting&>;

/// The entry of a protocol class with `struct Config`, `static void visit(Fields&, Config&,
/// learners)` and a constructor from Config and learners.
template <class P>
MakeProtocol read_protocol(Fields& fields, const Setting& setting) {
  typename P::Config config;
  P::visit(fields, config, setting.learners);
  if (!fields.good()) return {};
  return [config, learners = setting.learners] { return std::make_unique<P>(config, learners); };
}

}  // namespace gradrace
