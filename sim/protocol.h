#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "sim/catalog.h"
#include "sim/distribution.h"
#include "sim/tape.h"

namespace gradrace {

/// A learner's finished minibatch, as the server takes it up.
struct Arrival {
  std::uint32_t learner;
  std::uint32_t version;  // number of updates in the model that it was computed at
  GradientId gradient;
};

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

  /// The idle learner reads the current version and starts its next minibatch.
  virtual void dispatch(std::uint32_t learner) = 0;
  /// The same for every idle learner, in the order of their numbers.
  virtual void dispatch_waiting() = 0;

  /// The gradient goes into the next update.
  virtual void accept(const Arrival& arrival) = 0;
  /// The gradient is thrown away.
  virtual void drop(const Arrival& arrival) = 0;
  /// Every minibatch being computed stops; those gradients never exist, their learners are idle.
  virtual void cancel_all() = 0;

  /// Applies the average of the accepted gradients: the next version.
  virtual void update() = 0;
};

/// How a theoretical value relates to the long-run truth.
enum class Basis { exact, upper, lower, approximate };

/// What theory says of a protocol in the long run.
struct Theory {
  struct IterationTime {
    double value;
    Basis basis;
  };
  std::optional<IterationTime> iteration_time;  // time between updates
  std::optional<double> staleness;              // mean over applied gradients
};

/// A synchronisation protocol of a parameter server: which gradients enter which update, and who
/// computes when.
///
/// Contract: every call happens at one instant of simulated time; calls arrive in the order of
/// events; a protocol acts on the world only through the Server it is handed, and never sees
/// parameters.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// t = 0: dispatch the first minibatches.
  virtual void start(Server& server) { server.dispatch_waiting(); }

  /// A learner finished a minibatch and is idle now.
  virtual void on_gradient(Server& server, const Arrival& arrival) = 0;

  /// The K in force: gradients in the next update.
  virtual std::uint32_t k() const = 0;

  virtual Theory theory(const Distribution& runtime, std::uint32_t learners) const = 0;
};

/// Makes a fresh protocol for one run.
using MakeProtocol = std::function<std::unique_ptr<Protocol>()>;

/// `learners`: P of the cluster, for ranges.
using ProtocolEntry = Entry<MakeProtocol, std::uint32_t>;
using ProtocolCatalog = Catalog<MakeProtocol, std::uint32_t>;

/// The entry of a protocol class with `struct Config`, `static void visit(Fields&, Config&,
/// learners)` and a constructor from Config and learners.
template <class P>
MakeProtocol read_protocol(Fields& fields, std::uint32_t learners) {
  typename P::Config config;
  P::visit(fields, config, learners);
  if (!fields.good()) return {};
  return [config, learners] { return std::make_unique<P>(config, learners); };
}

}  // namespace gradrace
