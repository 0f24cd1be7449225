#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/make_protocol.h"
#include "sim/per_learner.h"

namespace gradrace {

/// tau of local SGD: how many steps each learner makes from one average to the next.  It is a
/// number, one for each learner, a list of numbers by epochs, or AdaComm's, which follows the loss.
class AveragingPeriod {
 public:
  struct Stage {
    double from_epoch;
    PerLearner tau;
  };
  struct Config {
    std::vector<Stage> stages;       // the first from 0, ascending
    std::optional<double> interval;  // AdaComm's; it starts from the only stage
  };
  /// The key `tau`.
  static void visit(Fields& fields, Config& config, const Setting& setting);

  explicit AveragingPeriod(const Config& config)
      : config_(config), adapted_(config.stages.front().tau) {}

  bool follows_loss() const { return config_.interval.has_value(); }
  bool goes_by_epochs() const { return config_.stages.size() > 1; }
  /// Whether learners make different numbers of steps.
  bool differs() const { return config_.stages.front().tau.differs(); }
  /// The number where it is one.
  std::optional<std::uint32_t> constant() const {
    if (follows_loss() || goes_by_epochs() || differs()) return {};
    return config_.stages.front().tau[0];
  }

  /// Its protocol begins.
  void start(Peers& peers);
  /// What on_evaluation() is told.
  void look(Peers& peers, const Evaluation& evaluation);

  /// Of a round that begins after that work.
  const PerLearner& steps(const Work& work) const;

 private:
  void adapt(double loss, double rate);

  const Config config_;
  PerLearner adapted_;  // AdaComm's tau
  double began_ = 0, first_loss_ = 0, highest_rate_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace gradrace
