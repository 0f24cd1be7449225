#pragma once

#include <span>
#include <vector>

#include "sim/tape.h"

namespace gradrace {

/// One model state in memory: the parameters, and what the rules of the run keep beside them.
template <class Real>
struct State {
  std::vector<Real> w;         // [d]
  std::vector<Real> velocity;  // [d]; empty without momentum
};

/// What the rule's distance leaves of the weight of a gradient computed at `at` [d] that moves
/// `base` [d].
template <class Real>
double rate_factor(const Rule& rule, std::span<const Real> base, std::span<const Real> at);

/// Completes the initial state, whose w is set, with what the rules of the run need.
template <class Real>
void complete(State<Real>& initial, std::span<const Rule> rules);

/// out: base moved by the rule; step [d] is the sum of weight g.  What out held is overwritten.
template <class Real>
void apply_rule(const State<Real>& base, const Rule& rule, std::span<const Real> step,
                State<Real>& out);

}  // namespace gradrace
