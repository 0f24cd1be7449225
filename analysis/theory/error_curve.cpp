#include "analysis/theory/error_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/theory/stability.h"
#include "analysis/theory/staleness_theory.h"

namespace gradrace {

namespace {

constexpr double most_steps = 1e7;  // updates times curvatures

/// Whether w' = w - eta g, and w' is what is evaluated.
bool makes_plain_steps(const Descent& descent) {
  return descent.momentum == 0 && descent.ema == 0 && descent.clip == 0;
}

/// Whether that is how one value moves, and K is the same in all updates.
bool is_plain(const Descent& descent) {
  return descent.one_value && !descent.k_varies && makes_plain_steps(descent);
}

bool is_fresh(const Descent& descent) { return descent.theory.staleness == 0.0; }

bool is_memoryless(const Descent& descent) { return descent.ageing == Ageing::memoryless; }

/// By exponential runtimes, which make what comes next independent of what was.
bool is_stale(const Descent& descent) {
  return !is_fresh(descent) && is_memoryless(descent) && descent.theory.reading != ReadOrder::other;
}

double p0(const Descent& descent) {
  if (!descent.ageing) return 0;
  return least_fresh_probability(*descent.ageing, descent.theory.reading, descent.k,
                                 descent.learners);
}

/// 1 of fresh gradients; none of stale ones without a gamma, or where it is not above 0.
std::optional<double> gamma_prime_of(const Descent& descent) {
  if (is_fresh(descent)) return 1;
  const double value = descent.gamma ? gamma_prime(*descent.gamma, p0(descent)) : 0;
  return value > 0 ? std::optional(value) : std::nullopt;
}

double eta_at(const Descent& descent, std::uint64_t update) {
  const std::uint64_t gradients = update * descent.k;
  return descent.learning_rate->eta({gradients, gradients * descent.minibatch, 0}, 0,
                                    descent.rate_k);
}

/// The learning rate of all gradients, where it is one except for the distance rule.
std::optional<double> largest_eta_used(const Descent& descent) {
  const LearningRate& rate = *descent.learning_rate;
  constexpr auto endless = std::numeric_limits<std::uint64_t>::max();
  const Work end{endless, endless, std::numeric_limits<double>::max()};
  const std::uint32_t k = descent.rate_k;
  const double eta = rate.eta({}, 0, k);
  if (rate.eta(end, 0, k) != eta) return {};
  if (is_fresh(descent)) return eta;
  const bool same = rate.eta({}, 2, k) == eta && rate.eta({}, 1000, k) == eta;
  return same ? std::optional(eta) : std::nullopt;
}

/// The learning rate of all gradients of plain SGD, where it is one.
std::optional<double> one_eta(const Descent& descent) {
  const bool ruled = !is_fresh(descent) && descent.learning_rate->distance() > 0;
  return ruled || !is_plain(descent) ? std::nullopt : largest_eta_used(descent);
}

MemorylessRace race_of(const Descent& descent) {
  return {descent.theory.reading, descent.k, descent.learners};
}

/// Where the curve is told: whole numbers of updates, ascending.  Empty without a limit that says
/// how far.
std::vector<std::uint64_t> places(const Descent& descent, double iteration_time) {
  double last = std::numeric_limits<double>::infinity();
  const Stop& stop = descent.stop;
  if (stop.time) last = *stop.time / iteration_time;
  if (stop.updates) last = std::min(last, static_cast<double>(*stop.updates));
  if (stop.gradients)
    last = std::min(last, std::ceil(static_cast<double>(*stop.gradients) / descent.k));
  if (!(last < most_steps)) return {};
  last = std::floor(last);
  constexpr double few = 100, most = 1000;
  const auto& every = descent.every_time;
  const double step = every ? std::max(*every / iteration_time, last / most) : last / few;
  std::vector<std::uint64_t> updates{0};
  for (int i = 1; i * step <= last && step > 0; ++i) {
    const auto update = static_cast<std::uint64_t>(std::llround(i * step));
    if (update > updates.back()) updates.push_back(update);
  }
  if (last > static_cast<double>(updates.back()))
    updates.push_back(static_cast<std::uint64_t>(last));
  return updates;
}

/// The bound of equal steps at those numbers of updates; empty where there is no step.
std::vector<double> bounds_of(const std::optional<ErrorStep>& step, double gap,
                              const std::vector<std::uint64_t>& updates) {
  std::vector<double> bounds;
  if (!step) return bounds;
  for (const auto update : updates) bounds.push_back(step->after(static_cast<double>(update), gap));
  return bounds;
}

/// Theorem 5 at those numbers of updates; empty where it does not hold.
std::vector<double> gradient_bounds(const Descent& descent, double eta, double gamma_prime,
                                    const std::vector<std::uint64_t>& updates) {
  std::vector<double> bounds;
  for (const auto update : updates) {
    const auto bound = gradient_bound(descent.quadratic.constants(), descent.k, eta, gamma_prime,
                                      static_cast<double>(update));
    if (!bound) return {};
    bounds.push_back(*bound);
  }
  return bounds;
}

/// Theorem 4, every eta_j at its ceiling: that of one gradient an update and the distance rule.
std::optional<ErrorStep> step_of_distance(const Descent& descent, double eta) {
  const double distance = descent.learning_rate->distance() * eta;
  if (distance == 0 || descent.k != 1) return {};
  return distance_step(descent.quadratic.constants(), eta, p0(descent), distance);
}

/// Of a value on that basis, told at a time on that one.  Losses fall: a time that is too late
/// makes a loss too large.
Basis joined(Basis loss, Basis time) {
  if (loss == Basis::exact) return time;
  return time == Basis::exact || time == loss ? loss : Basis::approximate;
}

}  // namespace

std::vector<ErrorCurve> error_curves(const Descent& descent) {
  if (!is_plain(descent) || !descent.theory.iteration_time) return {};
  Estimate time = *descent.theory.iteration_time;
  const bool uneven = descent.mixing && descent.theory.exchange_time.value_or(0) > 0;
  if (uneven) time.basis = Basis::approximate;  // an average comes after some updates, not in them
  const auto updates = places(descent, time.value);
  const auto curvatures = static_cast<double>(descent.quadratic.directions.size());
  if (updates.empty() || static_cast<double>(updates.back()) * curvatures > most_steps) return {};

  std::vector<ErrorCurve> curves;
  const auto add = [&](Basis basis, const char* source, std::vector<double> values,
                       ErrorCurve::Of of = ErrorCurve::Of::loss) {
    if (values.empty()) return;
    ErrorCurve curve{of, joined(basis, time.basis), source, updates, {}, std::move(values)};
    for (const auto update : updates)
      curve.times.push_back(static_cast<double>(update) * time.value);
    curves.push_back(std::move(curve));
  };
  const ProblemConstants problem = descent.quadratic.constants();
  if (is_fresh(descent)) {
    const Rates eta = [&](std::uint64_t update) { return eta_at(descent, update); };
    add(Basis::exact, "second moments", fresh_losses(descent.quadratic, descent.k, eta, updates));
    add(Basis::upper, "Lemma 2", fresh_bounds(problem, descent.k, eta, updates));
  }
  const auto eta = one_eta(descent);
  if (eta && is_stale(descent)) {
    add(Basis::exact, "second moments",
        memoryless_losses(descent.quadratic, race_of(descent), *eta, updates));
  }
  const auto gamma_prime = gamma_prime_of(descent);
  if (eta && gamma_prime) {
    const auto step = stale_step(problem, descent.k, *eta, *gamma_prime);
    if (!is_fresh(descent)) add(Basis::upper, "Theorem 3", bounds_of(step, problem.gap, updates));
    add(Basis::upper, "Theorem 5", gradient_bounds(descent, *eta, *gamma_prime, updates),
        ErrorCurve::Of::squared_gradient);
  }
  if (const auto ceiling = largest_eta_used(descent); ceiling && !is_fresh(descent)) {
    add(Basis::approximate, "Theorem 4",
        bounds_of(step_of_distance(descent, *ceiling), problem.gap, updates));
  }
  return curves;
}

std::optional<double> error_floor(const Descent& descent) {
  const auto eta = one_eta(descent);
  if (!eta) return {};
  if (is_fresh(descent)) return fresh_floor(descent.quadratic, descent.k, *eta);
  if (!is_stale(descent)) return {};
  return memoryless_floor(descent.quadratic, race_of(descent), *eta);
}

std::optional<double> error_floor_bound(const Descent& descent) {
  const auto eta = one_eta(descent);
  const auto gamma_prime = gamma_prime_of(descent);
  if (!eta || !gamma_prime) return {};
  const auto step = stale_step(descent.quadratic.constants(), descent.k, *eta, *gamma_prime);
  return step ? std::optional(step->floor()) : std::nullopt;
}

std::optional<double> largest_bounded_eta(const Descent& descent) {
  const auto gamma_prime = gamma_prime_of(descent);
  if (!is_plain(descent) || !gamma_prime) return {};
  return largest_eta(descent.quadratic.constants(), descent.k, *gamma_prime);
}

std::optional<Estimate> stable_eta(const Descent& descent) {
  const Theory& theory = descent.theory;
  if (!descent.one_value || !descent.momentum || descent.clip > 0 || !theory.staleness) return {};
  if (!is_fresh(descent) && descent.learning_rate->differs()) return {};
  const double smoothness = descent.quadratic.constants().smoothness;
  const bool follows = descent.law && theory.reading != ReadOrder::other && *theory.staleness > 0;
  if (follows && is_memoryless(descent) && descent.momentum == 0) {
    return Estimate{memoryless_stable_step(race_of(descent)) / smoothness, Basis::exact};
  }
  const bool one_staleness =
      *theory.staleness == 0 || (follows && descent.k == 1 && descent.law->variance() == 0);
  return Estimate{largest_stable_step(*theory.staleness, *descent.momentum) / smoothness,
                  one_staleness ? Basis::exact : Basis::approximate};
}

std::optional<double> disagreement(const Descent& descent) {
  if (!descent.mixing || !descent.theory.in_step || !makes_plain_steps(descent)) return {};
  const auto eta = largest_eta_used(descent);
  return eta ? gradrace::disagreement(descent.quadratic, *descent.mixing, *eta) : std::nullopt;
}

}  // namespace gradrace
