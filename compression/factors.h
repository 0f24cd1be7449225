#pragma once

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "compression/levels.h"
#include "sim/lane_sum.h"
#include "sim/random.h"
#include "sim/tensor.h"

namespace gradrace {

/// Each column [n] is made orthogonal to those before, of length 1; 0 where nothing is left of it.
inline void make_orthonormal(std::span<double> columns, std::size_t n) {
  constexpr double rounding = 1e-12;
  for (std::size_t at = 0; at < columns.size(); at += n) {
    const std::span<double> column = columns.subspan(at, n);
    const double before = norm<double>(column);
    for (int pass = 0; pass < 2; ++pass) {  // once leaves rounding of what it takes off
      for (std::size_t other = 0; other < at; other += n) {
        const double* const q = &columns[other];
        const double along = lane_sum(n, [&](std::size_t i) { return q[i] * column[i]; });
        for (std::size_t i = 0; i < n; ++i) column[i] -= along * q[i];
      }
    }
    const double left = norm<double>(column), factor = left <= rounding * before ? 0 : 1 / left;
    for (double& x : column) x *= factor;
  }
}

/// Columns [n] become N(0, 1); where those that are not 0 stay, the others do.
template <class Real>
void draw_columns(std::span<Real> columns, std::size_t n, bool stay, Stream& words) {
  boost::random::normal_distribution<double> normal;
  for (; !columns.empty(); columns = columns.subspan(n)) {
    const std::span<Real> column = columns.first(n);
    if (stay && std::ranges::any_of(column, [](Real x) { return x != 0; })) continue;
    for (Real& x : column) x = static_cast<Real>(normal(words));
  }
}

/// M [rows x columns] becomes P Q'^T, of P = M Q made orthonormal and Q' = M^T P, which Q [columns
/// x rank], column by column, becomes.  Factors are in Real, as they are sent; sums are in double.
template <class Real>
void multiply_factors(std::span<Real> M, std::span<Real> Q, const Tensor& tensor) {
  const std::size_t n = tensor.rows, m = tensor.columns, rank = Q.size() / m;
  std::vector<double> P(rank * n), sum(m);
  const auto add = [&](double factor, const Real* numbers) {
    for (std::size_t j = 0; j < m; ++j) sum[j] += factor * numbers[j];
  };
  const auto give = [&](Real* to) {
    std::ranges::transform(sum, to, [](double x) { return static_cast<Real>(x); });
    std::ranges::fill(sum, 0);
  };
  for (std::size_t k = 0; k < rank; ++k)
    for (std::size_t i = 0; i < n; ++i)
      P[k * n + i] = static_cast<Real>(lane_sum(
          m, [v = &M[i * m], q = &Q[k * m]](std::size_t j) { return double{v[j]} * q[j]; }));
  make_orthonormal(P, n);
  for (std::size_t k = 0; k < rank; ++k) {
    for (std::size_t i = 0; i < n; ++i) add(P[k * n + i], &M[i * m]);
    give(&Q[k * m]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < rank; ++k) add(P[k * n + i], &Q[k * m]);
    give(&M[i * m]);
  }
}

}  // namespace gradrace
