#pragma once

#include <span>
#include <vector>

#include "models/optimiser/statistics.h"
#include "sim/tape.h"

namespace gradrace {

/// One model state in memory: the parameters, and what the rules of the run keep beside them.
template <class Real>
struct State {
  std::vector<Real> w;  // [d]
  // Empty where no rule of the run needs it
  std::vector<Real> velocity;     // [d - statistics]
  std::vector<Real> mean_square;  // [d - statistics]
  std::vector<Real> average;      // [d]

  const std::vector<Real>& evaluated() const { return average.empty() ? w : average; }
};

/// What clipping to that L2 norm leaves of the gradient, statistics apart.
template <class Real>
double clip_factor(double clip, std::span<const Real> gradient);

/// What Rule::distance leaves of the weight of a gradient computed at `at` that moves base,
/// statistics apart.
template <class Real>
double distance_factor(double distance, std::span<const Real> base, std::span<const Real> at);

/// Completes the initial state, whose w is set, with what the rules of the run need.
template <class Real>
void complete(State<Real>& initial, std::span<const Rule> rules, const Statistics& statistics);

/// out: base moved by the rule; `rate` is the sum of weights, step [d] the sum of weight g.  What
/// out and step held is overwritten.
template <class Real>
void apply_rule(const State<Real>& base, const Rule& rule, const Statistics& statistics,
                double rate, std::span<Real> step, State<Real>& out);

}  // namespace gradrace
