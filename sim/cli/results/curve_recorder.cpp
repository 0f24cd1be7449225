#include "sim/cli/results/curve_recorder.h"

#include <cmath>
#include <limits>

namespace gradrace {

namespace {

std::vector<std::pair<double Evaluation::*, double>> levels_of(const Point& point) {
  std::vector<std::pair<double Evaluation::*, double>> levels;
  for (const Target& target : targets_of(point))
    levels.emplace_back(target.of == "loss" ? &Evaluation::loss : &Evaluation::test_error,
                        target.level);
  return levels;
}

}  // namespace

CurveRecorder::CurveRecorder(const Point& point, Spool* rows)
    : point_(point),
      rows_(rows),
      counts_bytes_(rows && point.with_compression() && counted_exchanges(point).bytes),
      targets_(levels_of(point)),
      target_times_(targets_.size(), std::numeric_limits<double>::quiet_NaN()),
      target_intervals_(target_times_) {}

void CurveRecorder::add(const CurvePoint& seen, std::span<const Evaluation> of_learners) {
  const auto& [at, evaluation] = seen;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const auto& [what, target] = targets_[i];
    if (!std::isnan(target_times_[i]) || !(evaluation.*what <= target)) continue;
    target_times_[i] = at.time;
    target_intervals_[i] = at.time - last_time_.value_or(at.time);
  }
  last_time_ = at.time;
  if (!first_loss_ && point_.with_model()) first_loss_ = evaluation.loss;
  if (!rows_) return;
  const auto& file = curve_csv(point_);
  CurveRow row{at, evaluation, point_.with_model()};
  if (!counts_bytes_) row.bytes = std::numeric_limits<double>::quiet_NaN();
  file.add(rows_->end(), row);
  for (std::size_t learner = 0; learner < of_learners.size(); ++learner) {
    static_cast<Evaluation&>(row) = of_learners[learner];
    row.learner = learner;
    file.add(rows_->end(), row);
  }
}

}  // namespace gradrace
