#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/learning_rate.h"

namespace gradrace {

/// No limit and no evaluation by work is met by fewer of both.
struct Quiet {
  std::uint64_t updates = 0, gradients = 0;
};

/// Who owns the values of a run: a parameter server, or learners without one.  The timing plane
/// tells it what happens on the engine and when an evaluation is answered, and asks what is to be
/// evaluated.
class Owner {
 public:
  virtual ~Owner() = default;

  virtual void start() = 0;
  virtual void on_arrival(std::uint32_t learner) = 0;
  /// The learner's gradient is lost.
  virtual void on_loss(std::uint32_t learner) = 0;
  /// The learner is back, and its minibatch due.
  virtual void on_return(std::uint32_t learner) = 0;
  /// An event of that exchange.
  virtual void on_exchange(std::uint32_t exchange) = 0;
  virtual void on_timer() = 0;
  virtual void on_evaluation(const Evaluation& evaluation) = 0;
  /// The run is over.
  virtual void finish() {}

  /// Writes into the tape what is evaluated now, and adds it.
  virtual void evaluate(Evaluations& evaluations) = 0;
  /// Values that may be read, moved or evaluated later.
  virtual std::span<const ValueId> live() = 0;

  /// Changes of values.
  std::uint64_t changes() const { return changes_; }
  virtual const Totals& totals() const = 0;
  virtual const Work& work() const = 0;
  /// [staleness]: applied gradients.
  virtual std::span<const std::uint64_t> staleness_counts() const = 0;
  /// Sum over updates of the gradients outstanding at each.
  virtual std::uint64_t outstanding_sum() const { return 0; }
  virtual std::vector<LearnerTotals> learner_totals() const = 0;

  /// Why the run cannot go on; empty: it can.
  const std::string& standstill() const { return standstill_; }

 protected:
  /// A rate without a model, an epoch without a data set.
  static constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

  std::uint64_t changes_ = 0;
  std::string standstill_;
};

}  // namespace gradrace
