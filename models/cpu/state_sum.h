#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "models/optimiser/optimiser.h"

namespace gradrace {

template <class Real>
struct WeightedState {
  const State<Real>* state;
  double weight;
};

/// out = base, but its parameters are the weighted sum of the terms', and with `whole` every other
/// part as well: each number summed in double in the order of the terms and rounded once.  out is
/// none of them.
template <class Real>
void sum_states(const State<Real>& base, std::span<const WeightedState<Real>> terms, bool whole,
                State<Real>& out) {
  const auto sum = [&](std::vector<Real> State<Real>::*part) {
    double sums[512];
    std::vector<Real>& to = out.*part;
    to.resize((base.*part).size());
    for (std::size_t begin = 0; begin < to.size(); begin += std::size(sums)) {
      const std::size_t count = std::min(std::size(sums), to.size() - begin);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        const Real* const from = (terms[t].state->*part).data() + begin;
        for (std::size_t j = 0; j < count; ++j) {
          const double term = terms[t].weight * from[j];
          sums[j] = t == 0 ? term : sums[j] + term;
        }
      }
      for (std::size_t j = 0; j < count; ++j) to[begin + j] = static_cast<Real>(sums[j]);
    }
  };
  sum(&State<Real>::w);
  for (const auto part :
       {&State<Real>::velocity, &State<Real>::mean_square, &State<Real>::average}) {
    if (whole)
      sum(part);
    else
      out.*part = base.*part;
  }
}

}  // namespace gradrace
