#pragma once

#include <algorithm>

#include "sim/cli/scenario/memory.h"
#include "sim/evaluation.h"

namespace gradrace {

/// What a core takes for a model's numbers.
struct ModelCost {
  double rows = 1;              // of the gradient that was timed
  double gradient_of_rows = 0;  // seconds, of that
  double of_row = 0;            // seconds, of another row of a minibatch
  double evaluation = 0;        // seconds, of a value
  double shared = 0;            // bytes, of what all runs have together
  double scratch = 0;           // bytes, of what was tried
  double bytes_of_row = 0;      // of another row of a minibatch
  Evaluation found = {};        // as long in words as others, and no level is as low

  /// Seconds.
  double gradient(double minibatch) const { return gradient_of_rows + of_row * (minibatch - rows); }
  /// Bytes.
  double memory(double minibatch) const {
    return scratch + std::max(0.0, bytes_of_row * (minibatch - rows));
  }
};

/// Of a gradient of as many rows as take `patience` seconds, at most the point's, and of an
/// evaluation likewise; of a quadratic by one of a few million numbers.
ModelCost cost_of_model(const Point& point, const ModelMemory& memory, double patience);

}  // namespace gradrace
