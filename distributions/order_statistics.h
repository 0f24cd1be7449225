#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "sim/distribution.h"

namespace gradrace {

/// H_n - H_{n-k} = 1/n + 1/(n-1) + ... + 1/(n-k+1): E[X_{k:n}] of the exponential law of mean 1.
/// Source: Renyi 1953.
double harmonic_difference(std::uint32_t k, std::uint32_t n);

/// P(at least k of n independent trials succeed), each with probability p in [0, 1]: I_p(k, n-k+1).
double at_least_k_of_n(std::uint32_t k, std::uint32_t n, double p);

/// E[min(X_{k:n}, cap)] of any law X >= 0, by adaptive quadrature of
///
///     integral over 0 <= x <= cap of P(X_{k:n} > x) dx,   P(X_{k:n} > x) = I_{S(x)}(n-k+1, k),
///
/// S the survival function, I the regularised incomplete beta function.  Relative error below 1e-9
/// where survival() is good to 1e-14 and, past the largest double, nothing of the mean is left.
/// Source: David and Nagaraja, Order Statistics, 3rd ed. 2003, sections 2.1 and 3.1.
double integrate_order_statistic(const Distribution& law, std::uint32_t k, std::uint32_t n,
                                 double cap = std::numeric_limits<double>::infinity());

/// So many draws of a law.
struct Draws {
  const Distribution* law;
  std::uint32_t count;
};

/// E[min(M, cap)] of the largest M of independent draws of several laws, by the same quadrature of
///
///     P(M > x) = 1 - product over the laws of P(X <= x)^count.
///
/// Source: David and Nagaraja, section 5.2.
double integrate_largest(std::span<const Draws> draws,
                         double cap = std::numeric_limits<double>::infinity());

/// E[X] of the k-th smallest X of independent draws of several laws, by the same quadrature of
///
///     P(X > x) = P(fewer than k of the draws are <= x),
///
/// the sum of k terms of the Poisson binomial law, which takes k times the number of draws of work.
/// Source: David and Nagaraja, section 5.2.
double integrate_kth_smallest(std::span<const Draws> draws, std::uint32_t k);

/// One draw of X_{k:n} of any law, whatever n: X at the k-th smallest U of n uniform draws.  With
/// independent G ~ Gamma(k) and H ~ Gamma(n-k+1) that is U = G / (G + H), and 1 - U = H / (G + H)
/// has every digit too; so the law is asked from the end that is nearer.
/// Source: Devroye, Non-Uniform Random Variate Generation, 1986, sections V.3.1 and IX.4.1.
double draw_order_statistic(const Distribution& law, std::uint32_t k, std::uint32_t n,
                            Stream& words);

}  // namespace gradrace
