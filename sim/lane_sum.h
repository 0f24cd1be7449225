#pragma once

#include <cstddef>
#include <iterator>
#include <numeric>

namespace gradrace {

/// The sum of term(0) ... term(terms - 1) in double, in partial sums that do not wait for each
/// other.
template <class Term>
double lane_sum(std::size_t terms, const Term& term) {
  constexpr std::size_t lanes = 8;
  double sums[lanes] = {};
  std::size_t j = 0;
  for (; j + lanes <= terms; j += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += term(j + lane);
  for (; j < terms; ++j) sums[0] += term(j);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

}  // namespace gradrace
