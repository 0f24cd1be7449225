#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/cli/output/spool.h"
#include "sim/cli/results/run_files.h"
#include "sim/engine/curve_sink.h"

namespace gradrace {

/// Writes curve.csv of one run, and notes when the run came to the point's targets.
class CurveRecorder final : public CurveSink {
 public:
  /// rows: null without curve.csv.  They and the point must outlive it.
  CurveRecorder(const Point& point, Spool* rows);

  /// A row of what the evaluation looks at, then one of each learner's value, where that is asked
  /// for.
  void add(const CurvePoint& seen, std::span<const Evaluation> of_learners) override;

  /// NaN: not reached; in the order of targets_of().
  const std::vector<double>& target_times() const { return target_times_; }
  /// From the evaluation before to that one; 0 where there was none before.
  const std::vector<double>& target_intervals() const { return target_intervals_; }
  /// Of a model.
  std::optional<double> first_loss() const { return first_loss_; }

 private:
  const Point& point_;
  Spool* const rows_;
  const bool counts_bytes_;
  const std::vector<std::pair<double Evaluation::*, double>> targets_;
  std::vector<double> target_times_, target_intervals_;
  std::optional<double> last_time_;  // of an evaluation
  std::optional<double> first_loss_;
};

}  // namespace gradrace
