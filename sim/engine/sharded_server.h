#pragma once

#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/engine/books.h"
#include "sim/engine/engine.h"
#include "sim/engine/evaluations.h"
#include "sim/engine/owner.h"
#include "sim/engine/race.h"
#include "sim/engine/tape_writer.h"

namespace gradrace {

/// Owner of a model whose ranges have a version each: every shard of the server follows the
/// protocol by itself, as it takes parts of gradients up, and its updates move its range.  A
/// learner pulls when all shards have dispatched it, and reads of each range the version that there
/// is then.
///
/// A run stands still where all learners wait, each for a shard that has let others go.
///
/// The run has made as many updates as the shard that has made the fewest, and has applied a
/// gradient when all parts of it are.
class ShardedServer final : public Owner {
 public:
  /// All must outlive it.  The protocol may be followed by shards; learners do not fail, and send
  /// no messages.
  ShardedServer(const Race& race, std::uint32_t replica, Engine& engine, TapeWriter& tape);
  ~ShardedServer() override;

  void start() override;
  void on_part(std::uint32_t learner) override;
  void on_arrival(std::uint32_t learner) override;
  void on_loss(std::uint32_t) override { refuse(); }
  void on_return(std::uint32_t) override { refuse(); }
  void on_exchange(std::uint32_t) override { refuse(); }
  void on_timer() override { refuse(); }
  void on_evaluation(const Evaluation&) override { refuse(); }

  void evaluate(Evaluations& evaluations) override;
  std::span<const ValueId> live() override;

  const Totals& totals() const override { return totals_; }
  std::span<const std::uint64_t> staleness_counts() const override { return staleness_counts_; }
  std::vector<LearnerTotals> learner_totals() const override { return engine_.learner_totals(); }

 private:
  class Shard;

  static void refuse() { GRADRACE_CHECK(false, "shards with a version each are not asked for it"); }

  // What shards do.
  /// It lets the learner go.
  void dispatch(std::uint32_t learner);
  /// Its part of the gradient has been applied, which knows its staleness.
  void apply(const Shard& shard, const GradientFacts& gradient);
  /// It has made a version.
  void change(const Shard& shard);

  void pull(std::uint32_t learner);
  /// The model as it is now.
  ValueId assembled();
  void note_dispatch();
  void finish_gradient(const GradientFacts& gradient);

  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size()); }

  const std::uint32_t replica_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::uint32_t> let_go_;  // [learner]: shards that have dispatched it
  std::uint32_t behind_;               // shards that have made the fewest updates
  ValueId assembled_ = 0;
  bool is_assembled_ = true;
  std::vector<Term> ranges_;  // of a value; kept for their memory, as is the next
  std::vector<ValueId> live_;

  GradientId oldest_ = 0;                            // of which not all parts have been applied
  boost::circular_buffer<std::uint32_t> left_;       // [gradient since that]: parts to be applied
  boost::circular_buffer<std::uint32_t> staleness_;  // [gradient since that, shard]

  Totals totals_;
  std::vector<std::uint64_t> staleness_counts_;
};

}  // namespace gradrace
