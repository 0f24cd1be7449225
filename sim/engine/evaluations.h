#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/engine/race.h"
#include "sim/run_error.h"

namespace gradrace {

/// What is known of an evaluation before its numbers are.
struct EvaluationPoint {
  double time = 0;
  std::uint64_t update = 0;
  std::uint64_t gradients = 0;  // applied
  double epoch = 0;             // NaN without a training set
  double learning_rate = 0;     // eta of a fresh gradient; NaN without a model
  std::uint32_t k = 0;
  double bytes = 0;  // sent and received by all learners so far, where there are messages
  double bits = std::numeric_limits<double>::quiet_NaN();  // of a number by the last code that is
                                                           // known, where codes change
  std::uint32_t members = 0;                               // learners that are up
};

/// When values are evaluated: the race's schedule, by time and by work, and what has been
/// evaluated. Whose values those are is for their owner to say.
class Evaluations {
 public:
  explicit Evaluations(const EvaluationSchedule& every) : every_(every) {}

  /// Of a run.
  static constexpr std::uint64_t most = 10'000'000;

  bool by_time() const { return every_.every_time.has_value(); }
  /// The next time of the schedule: a multiple, not a running sum.
  double next_time() { return *every_.every_time * static_cast<double>(++timed_); }

  /// Whether work has come to a multiple since the last call.
  bool due(std::uint64_t updates, double epochs) {
    bool due = false;
    if (every_.every_updates && updates >= (by_updates_ + 1) * *every_.every_updates) {
      by_updates_ = updates / *every_.every_updates;
      due = true;
    }
    if (every_.every_epochs) {
      const double passed = std::floor(epochs / *every_.every_epochs);
      due = due || passed > by_epochs_;
      by_epochs_ =
          std::max(by_epochs_, passed);  // those that are made again are not evaluated again
    }
    return due;
  }

  /// No fewer updates bring the next one by work.
  double next_update() const {
    if (every_.every_epochs) return 0;
    if (!every_.every_updates) return std::numeric_limits<double>::infinity();
    return static_cast<double>((by_updates_ + 1) * *every_.every_updates);
  }

  /// Whether what there is after so many changes of values has been evaluated at that time.
  bool made(double time, std::uint64_t changes) const {
    return last_time_ == time && last_changes_ == changes;
  }

  /// RunError: they are too many.
  void add(const EvaluationPoint& point, std::uint64_t changes) {
    if (++made_ > most) {
      throw RunError("makes more than " + std::to_string(most) +
                     " evaluations; ask for fewer (record.every_time, every_updates, "
                     "every_epochs), or for a shorter run");
    }
    segment_.push_back(point);
    last_time_ = point.time;
    last_changes_ = changes;
  }

  /// Of the segment, in order.
  const std::vector<EvaluationPoint>& of_segment() const { return segment_; }
  void begin_segment() { segment_.clear(); }

 private:
  const EvaluationSchedule& every_;
  std::vector<EvaluationPoint> segment_;
  double last_time_ = -1;
  std::uint64_t last_changes_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t timed_ = 0;
  std::uint64_t by_updates_ = 0;
  double by_epochs_ = 0;
};

}  // namespace gradrace
