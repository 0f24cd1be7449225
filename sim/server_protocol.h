#pragma once

#include <cstdint>
#include <optional>

#include "sim/evaluation.h"
#include "sim/gradient_facts.h"
#include "sim/protocol.h"
#include "sim/random.h"

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
  /// The random numbers of the protocol's choice of that number.
  virtual Stream random(std::uint32_t number) const = 0;

  /// The idle learner reads the current version and starts its next minibatch.
  virtual void dispatch(std::uint32_t learner) = 0;
  /// The same for every idle learner, in the order of their numbers.
  virtual void dispatch_waiting() = 0;

  /// The gradient goes into the next update.
  virtual void accept(const GradientFacts& arrival) = 0;
  /// The gradient is thrown away.
  virtual void drop(const GradientFacts& arrival) = 0;
  /// The gradient that has arrived waits, its learner idle, until it is released: then it is
  /// accepted or dropped at once.
  virtual void hold(const GradientFacts& arrival) = 0;
  virtual void release(const GradientFacts& held) = 0;
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
  /// ordered from now on leave when it is over.  For a protocol that says so.
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

  /// The learner has failed, and its minibatch is lost; it is back, and has begun another at the
  /// current version.
  virtual void on_loss(Server& /*server*/, std::uint32_t /*learner*/) {}
  virtual void on_return(Server& /*server*/, std::uint32_t /*learner*/) {}

  /// The time of Server::timer() has come.
  virtual void on_timer(Server& /*server*/) {}

  /// The answer to Server::evaluate_at(), at that time.  A new decision takes effect at the next
  /// update.
  virtual void on_evaluation(Server& /*server*/, const Evaluation& /*evaluation*/) {}

  Theory theory(const Conditions& conditions) const final;
  /// Between updates in the long run, where minibatches take independent draws, of one law or each
  /// learner of its own, of which conditions have the means, and nothing else takes time.
  virtual std::optional<Estimate> iteration_time(const Conditions& /*conditions*/) const {
    return {};
  }
  virtual Staleness staleness(std::uint32_t /*learners*/) const { return {}; }
};

}  // namespace gradrace
