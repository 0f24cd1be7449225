#pragma once

#include <cstddef>
#include <span>

namespace gradrace {

/// The last of a model's parameters may be statistics of what passes through it: not learnt, but
/// carried along.  The gradient has the minibatch's statistics at their places, and an update
///
///     s' = decay s + (1 - decay) (mean of its gradients' statistics, by their weights)
///
/// where an update whose weights vanish leaves s.  Clipping, distance and optimisers know
/// the other parameters alone; an ema averages all.
struct Statistics {
  std::size_t count = 0;
  double decay = 0;
};

/// What is learnt of parameters or a gradient, and what is statistics.
template <class Real>
std::span<Real> learnt(std::span<Real> w, const Statistics& statistics) {
  return w.first(w.size() - statistics.count);
}
template <class Real>
std::span<Real> carried(std::span<Real> w, const Statistics& statistics) {
  return w.last(statistics.count);
}

}  // namespace gradrace
