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
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"
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
  /// A shard of the server has taken up its part of the learner's gradient.
  virtual void on_part(std::uint32_t) { GRADRACE_CHECK(false, "gradients arrive whole here"); }
  /// The learner's message leaves.
  virtual void on_message(std::uint32_t) { GRADRACE_CHECK(false, "no message leaves here"); }
  /// Of the messages asked for.
  virtual void hear(std::span<const double> /*bytes*/) {}
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

  /// So many messages are on the tape whose bytes it must hear before the next event.
  std::uint32_t asked() const { return asked_; }

  /// Writes into the tape what is evaluated now, and adds it.
  virtual void evaluate(Evaluations& evaluations) = 0;
  /// Values that may be read, moved or evaluated later.
  virtual std::span<const ValueId> live() = 0;

  /// Changes of values.
  std::uint64_t changes() const { return changes_; }
  virtual const Totals& totals() const = 0;
  const Work& work() const { return work_; }
  /// [staleness]: applied gradients.
  virtual std::span<const std::uint64_t> staleness_counts() const = 0;
  /// Sum over updates of the gradients outstanding at each.
  virtual std::uint64_t outstanding_sum() const { return 0; }
  virtual std::vector<LearnerTotals> learner_totals() const = 0;
  virtual Losses losses() const { return {}; }
  virtual OuterUpdates outer_updates() const { return {}; }
  /// Learners that are down now.
  virtual std::uint32_t count_down() const { return engine_.count_down(); }

  /// Why the run cannot go on; empty: it can.
  const std::string& standstill() const { return standstill_; }

 protected:
  /// A rate without a model, an epoch without a data set.
  static constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

  /// All must outlive it.
  Owner(const Race& race, Engine& engine, TapeWriter& tape)
      : race_(race), engine_(engine), tape_(tape) {}

  /// Of the plan in force.
  double eta(std::uint32_t staleness, std::uint32_t gradients) const {
    const auto& learning_rate = race_.plans[plan_].learning_rate;
    return learning_rate ? learning_rate->eta(work_, staleness, gradients) : not_known;
  }
  /// Of an evaluation now; gradients_of_step and k: the protocol's.
  EvaluationPoint point(std::uint32_t gradients_of_step, std::uint32_t k) const {
    const Totals& made = totals();
    const double epoch = race_.training_rows > 0 ? work_.epochs : not_known;
    EvaluationPoint now{
        engine_.time(), made.updates, made.applied, epoch, eta(0, gradients_of_step), k};
    now.members = race_.learners - count_down();
    if (!race_.has_messages()) return now;
    for (const LearnerTotals& learner : learner_totals())
      now.bytes += learner.exchanged.sent + learner.exchanged.received;
    if (const CodeHistory* const codes = engine_.codes()) now.bits = codes->bits();
    return now;
  }
  std::uint32_t samples_of(const GradientFacts& gradient) const {
    return race_.plans[gradient.plan].minibatch[gradient.learner];
  }
  /// What it counts in a mean of gradients.
  double part_of(const GradientFacts& gradient) const {
    return counts_rows_ ? samples_of(gradient) : 1.0;
  }
  /// What they count.
  double parts_of(std::span<const GradientFacts> gradients) const {
    double sum = 0;
    for (const GradientFacts& gradient : gradients) sum += part_of(gradient);
    return sum;
  }
  /// So many gradients of so many samples were applied.
  void count_work(std::uint64_t gradients, std::uint64_t samples) {
    count_work(work_, gradients, samples);
  }
  void count_work(Work& work, std::uint64_t gradients, std::uint64_t samples) const {
    work.gradients += gradients;
    work.samples += samples;
    if (race_.training_rows > 0)
      work.epochs = static_cast<double>(work.samples) / static_cast<double>(race_.training_rows);
  }

  const Race& race_;
  const bool counts_rows_ = race_.counts_rows();
  Engine& engine_;
  TapeWriter& tape_;
  std::uint16_t plan_ = 0;  // in force
  Work work_;
  std::uint64_t changes_ = 0;
  std::uint32_t asked_ = 0;
  std::string standstill_;
};

}  // namespace gradrace
