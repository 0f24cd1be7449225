#pragma once

#include <span>

#include "sim/engine/evaluations.h"
#include "sim/evaluation.h"

namespace gradrace {

/// One row of the error curve.
struct CurvePoint {
  EvaluationPoint point;
  Evaluation evaluation;  // NaN in a timing-only run
};

/// Is told the error curve of a run: each evaluation once, in order, when its numbers are known.
class CurveSink {
 public:
  virtual ~CurveSink() = default;

  /// of_learners: [learner], where each is asked for; else empty.
  virtual void add(const CurvePoint& seen, std::span<const Evaluation> of_learners) = 0;
};

}  // namespace gradrace
