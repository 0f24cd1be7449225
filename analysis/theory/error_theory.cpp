#include "analysis/theory/error_theory.h"

#include <algorithm>
#include <cmath>

namespace gradrace {
namespace {

/// What the second moment of the averaged gradient allows.
double smoothness_limit(const ProblemConstants& problem, double k) {
  const double growth = problem.relative_variance / (k * problem.minibatch) + 1;
  return 1 / (2 * problem.smoothness * growth);
}

double noise_of(const ProblemConstants& problem, double k, double eta) {
  return eta * eta * problem.smoothness * problem.variance / (2 * k * problem.minibatch);
}

}  // namespace

double ErrorStep::after(double updates, double gap) const {
  return floor() + std::pow(1 - rate, updates) * (gap - floor());
}

std::optional<ErrorStep> fresh_step(const ProblemConstants& problem, double k, double eta) {
  return stale_step(problem, k, eta, 1);
}

double gamma_prime(double gamma, double p0) { return 1 - gamma + p0 / 2; }

std::optional<ErrorStep> stale_step(const ProblemConstants& problem, double k, double eta,
                                    double gamma_prime) {
  if (eta > largest_eta(problem, k, gamma_prime)) return {};
  return ErrorStep{eta * problem.c * gamma_prime, noise_of(problem, k, eta)};
}

std::optional<ErrorStep> distance_step(const ProblemConstants& problem, double eta, double p0,
                                       double distance) {
  const double rate = eta * (1 + p0 / 2) * problem.c;
  if (eta > smoothness_limit(problem, 1)) return {};
  const double moved = distance * problem.smoothness * problem.smoothness / 2;
  return ErrorStep{rate, noise_of(problem, 1, eta) + moved};
}

double largest_eta(const ProblemConstants& problem, double k, double gamma_prime) {
  return std::min(1 / (problem.c * gamma_prime), smoothness_limit(problem, k));
}

std::optional<double> gradient_bound(const ProblemConstants& problem, double k, double eta,
                                     double gamma_prime, double updates) {
  if (eta > smoothness_limit(problem, k)) return {};
  const double start = 2 * problem.gap / ((updates + 1) * eta);
  const double noise = problem.smoothness * eta * problem.variance / (k * problem.minibatch);
  return (start + noise) / gamma_prime;
}

}  // namespace gradrace
