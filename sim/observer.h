#pragma once

#include <cstdint>
#include <span>

#include "sim/gradient_facts.h"

namespace gradrace {

/// What becomes of a gradient after its dispatch.
enum class Ending : std::uint8_t { accepted, dropped, cancelled, lost };

struct UpdateFacts {
  std::uint64_t update;  // number of this update, from 1
  double time;
  double iteration_time;  // since the update before (or the start)
  double learning_rate;   // eta of a fresh gradient; NaN without a model, or with a distance
  std::span<const GradientFacts> gradients;
};

/// The way of a gradient between a learner and the server: the model was pulled from `left` on, the
/// gradient computed from `begin` to `end` and pushed until `reached`; each no later than the
/// moment at which it ended.
struct TripFacts {
  std::uint32_t learner;
  double left, begin, end, reached;
  double computed;                 // the time for which it was
  double reading = 0, making = 0;  // of messages: the end of the pull, and what follows computing

  double communicating() const { return (begin - left) + (reached - end) - reading; }
};

enum class ExchangeKind : std::uint8_t { collective, pair, gossip, copy, push, pull };

/// What learners without a server exchange; push and pull: with a coordinator.
struct ExchangeFacts {
  ExchangeKind kind;
  std::span<const std::uint32_t> members;  // who are in it; of a gossip or copy the one whose it is
  std::span<const std::uint32_t> heard;    // and whom that one hears, or copies
  double bytes;                            // that each has to share; 0 without a network
  std::uint64_t number = 0;                // in the order of their beginning, from 0
  double begin = 0, end = 0;
};

/// Sees what happens in a run, in order; the recorders.  The engine itself writes no files.
class Observer {
 public:
  virtual ~Observer() = default;

  /// The run begins; after a divergence, it begins again, to be followed up to the evaluation that
  /// showed it.
  virtual void on_start() {}
  virtual void on_dispatch(const GradientFacts& /*gradient*/, double /*time*/) {}
  /// It was dispatched at `begin`.
  virtual void on_end(const GradientFacts& /*gradient*/, double /*begin*/, double /*time*/,
                      Ending /*ending*/) {}
  /// A gradient has ended, or the run has while it was under way; where that takes more than
  /// computing.
  virtual void on_trip(const TripFacts& /*trip*/) {}
  virtual void on_update(const UpdateFacts& /*update*/) {}
  /// A learner's own value has moved by the gradient, which knows its staleness; without a server.
  virtual void on_step(const GradientFacts& /*gradient*/) {}
  /// It has ended, or the run has while it was under way.
  virtual void on_exchange(const ExchangeFacts& /*exchange*/) {}
  /// The run is over; on_in_flight() has been called for every gradient being computed, and
  /// on_exchange() for every exchange.
  virtual void on_finish(double /*time*/) {}
  virtual void on_in_flight(const GradientFacts& /*gradient*/, double /*begin*/, double /*time*/) {}
};

}  // namespace gradrace
