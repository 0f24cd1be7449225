#pragma once

#include <cstdint>
#include <optional>

namespace gradrace {

/// What error bounds know of a problem.
/// Source: Dutta et al., AISTATS 2018, section 2.4, assumptions 1, 2 and 4.
struct ProblemConstants {
  double c = 0;                  // 2 c (F(w) - F*) <= |grad F|^2; unused where F is not convex
  double smoothness = 0;         // L
  double variance = 0;           // sigma^2: of the gradient of one sample
  double relative_variance = 0;  // M_G: what is added to it is M_G |grad F|^2
  double minibatch = 1;          // m
  double gap = 0;                // F(w_0) - F*
};

/// What one update does to an expected error e = E[F(w_j)] - F*: it is at most (1 - rate) e + noise
/// afterwards.
struct ErrorStep {
  double rate, noise;

  /// Where equal updates end.
  double floor() const { return noise / rate; }
  /// After so many equal updates from e = gap.
  double after(double updates, double gap) const;
};

/// K fresh gradients averaged (k-sync, k-batch-sync, sync at K = P), an upper bound:
///
///     rate = eta c,   noise = eta^2 L sigma^2 / (2 K m).
///
/// None above the papers' largest_eta(problem, K).
/// Source: Dutta et al., AISTATS 2018, Lemma 2.
std::optional<ErrorStep> fresh_step(const ProblemConstants& problem, double k, double eta);

/// gamma' = 1 - gamma + p0/2, with E|grad F(w_j) - grad F(w_tau)|^2 <= gamma E|grad F(w_j)|^2 and
/// p0 a lower bound on the probability that a gradient is fresh.  Above 1 (p0/2 > gamma) stale
/// gradients lose less in an update than fresh ones do by Lemma 2.
/// Source: Dutta et al., AISTATS 2018, Theorem 3.
double gamma_prime(double gamma, double p0);

/// K gradients averaged that may be stale (k-async, k-batch-async, async at K = 1), an upper bound:
///
///     rate = eta c gamma',   noise = eta^2 L sigma^2 / (2 K m).
///
/// None above largest_eta(problem, K, gamma').
/// Source: Dutta et al., AISTATS 2018, Theorem 3 and Corollary 2.
std::optional<ErrorStep> stale_step(const ProblemConstants& problem, double k, double eta,
                                    double gamma_prime);

/// Async with a learning rate of each update's own, eta_j E|w_j - w_tau(j)|^2 <= distance, an upper
/// bound that needs no gamma:
///
///     rate = eta (1 + p0/2) c,   noise = eta^2 L sigma^2 / (2 m) + distance L^2 / 2.
///
/// One step for each eta_j; none above 1 / (2 L (M_G/m + 1)).  As it is derived step by step, a run
/// of J updates has J terms of noise; the sum as printed has one more.
/// Source: Dutta et al., AISTATS 2018, Theorem 4.
std::optional<ErrorStep> distance_step(const ProblemConstants& problem, double eta, double p0,
                                       double distance);

/// The largest eta of the bounds above,
///
///     min(1 / (c gamma'), 1 / (2 L (M_G/(K m) + 1))).
///
/// Two slips of the paper are set right.  It prints the larger of the two, but both conditions must
/// hold.  And Theorem 3 says M_G/(K m) + 1/K where its own Lemma 9 gives M_G/(K m) + 1 (the same at
/// K = 1).  Fresh gradients: gamma' = 1.
double largest_eta(const ProblemConstants& problem, double k, double gamma_prime = 1);

/// F need not be convex: after J updates at one eta the mean over j = 0..J of E|grad F(w_j)|^2 is
/// at most
///
///     2 (F(w_0) - F*) / ((J + 1) eta gamma') + L eta sigma^2 / (K m gamma').
///
/// None above 1 / (2 L (M_G/(K m) + 1)).  Fresh gradients: gamma' = 1.  As AdaSync has it, K
/// against time: J + 1 = time / E[T], the least over K is where K^2 dE[T]/dK = L eta^2 sigma^2 time
/// / (2 m (F(w_0) - F*)). Source: Dutta et al., AISTATS 2018, Theorem 5; Dutta, Wang, Joshi, JSAIT
/// 2021, re-derived.
std::optional<double> gradient_bound(const ProblemConstants& problem, double k, double eta,
                                     double gamma_prime, double updates);

}  // namespace gradrace
