#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

namespace gradrace {

template <class Real>
struct WeightedState {
  const Real* numbers;
  double weight;
};

/// out: the weighted sum of the terms, each number summed in double in the order of the terms and
/// rounded once.  out is none of them.
template <class Real>
void sum_states(std::span<const WeightedState<Real>> terms, std::span<Real> out) {
  double sums[512];
  for (std::size_t begin = 0; begin < out.size(); begin += std::size(sums)) {
    const std::size_t count = std::min(std::size(sums), out.size() - begin);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const Real* const from = terms[t].numbers + begin;
      for (std::size_t j = 0; j < count; ++j) {
        const double term = terms[t].weight * from[j];
        sums[j] = t == 0 ? term : sums[j] + term;
      }
    }
    for (std::size_t j = 0; j < count; ++j) out[begin + j] = static_cast<Real>(sums[j]);
  }
}

/// shares [numbers of base]: of each number the sum over the terms of weight times (term - base)^2,
/// in double and in the order of the terms.
template <class Real>
void disagreement_shares(std::span<const WeightedState<Real>> terms, std::span<const Real> base,
                         std::span<double> shares) {
  std::ranges::fill(shares, 0.0);
  for (const WeightedState<Real>& term : terms) {
    for (std::size_t j = 0; j < shares.size(); ++j) {
      const double apart = static_cast<double>(term.numbers[j]) - base[j];
      shares[j] += term.weight * (apart * apart);
    }
  }
}

}  // namespace gradrace
