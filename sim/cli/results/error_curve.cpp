#include "sim/cli/results/error_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/theory/quadratic_theory.h"
#include "analysis/theory/stability.h"
#include "analysis/theory/staleness_theory.h"
#include "models/quadratic.h"
#include "sim/cli/results/csv.h"
#include "sim/cli/results/results_writer.h"

namespace gradrace {

namespace {

constexpr double most_steps = 1e7;  // updates times curvatures
constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

NoisyQuadratic noisy(const QuadraticConfig& config) {
  std::map<double, double> counts;
  const std::uint64_t length = config.curvatures.size();
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint64_t count = config.dimensions / length + (i < config.dimensions % length);
    counts[config.curvatures[i]] += static_cast<double>(count);
  }
  NoisyQuadratic quadratic;
  quadratic.start = config.start;
  for (const auto& [curvature, count] : counts) quadratic.directions.push_back({curvature, count});
  quadratic.variance =
      config.noise * config.noise / config.minibatch / static_cast<double>(config.dimensions);
  return quadratic;
}

/// Whether w' = w - eta g, and w' is what is evaluated.
bool plain_sgd(const Point& point) {
  const Rule& rule = point.rule;
  return rule.momentum == 0 && !rule.rmsprop && rule.ema == 0 && point.recipe.clip == 0;
}

/// Plain SGD on a quadratic, K gradients an update.
struct Descent {
  NoisyQuadratic quadratic;
  std::uint32_t k, minibatch;
  Theory theory;
  bool memoryless = false;
  double p0 = 0;
  std::optional<double> gamma = {};  // assumed

  bool fresh() const { return theory.staleness == 0.0; }
  bool stale() const { return !fresh() && memoryless && theory.reading != ReadOrder::other; }
  /// 1 of fresh gradients; none of stale ones without a gamma, or where it is not above 0.
  std::optional<double> gamma_prime() const {
    if (fresh()) return 1;
    const double value = gamma ? gradrace::gamma_prime(*gamma, p0) : 0;
    return value > 0 ? std::optional(value) : std::nullopt;
  }
};

std::optional<Descent> descent_of(const Point& point) {
  if (!point.with_model() || !point.model->quadratic() || !plain_sgd(point)) return {};
  const auto protocol = point.make_protocol();
  if (protocol->needs_evaluations()) return {};  // K depends on the loss
  Descent descent{noisy(*point.model->quadratic()), protocol->k(), point.model->minibatch(),
                  point.theory()};
  descent.gamma = point.gamma;
  if (const auto law = point.common_law()) {
    descent.memoryless = law->ageing() == Ageing::memoryless;
    descent.p0 = least_fresh_probability(law->ageing(), descent.theory.reading, descent.k,
                                         point.cluster.learners);
  }
  return descent;
}

double eta_at(const Point& point, const Descent& descent, std::uint64_t update) {
  const std::uint64_t gradients = update * descent.k;
  return point.learning_rate->eta({gradients, gradients * descent.minibatch, 0}, 0, descent.k);
}

/// The learning rate of all gradients, where it is one but for the distance rule.
std::optional<double> largest_eta_used(const Point& point, const Descent& descent) {
  const LearningRate& rate = *point.learning_rate;
  constexpr auto endless = std::numeric_limits<std::uint64_t>::max();
  const Work end{endless, endless, std::numeric_limits<double>::max()};
  const double eta = rate.eta({}, 0, descent.k);
  if (rate.eta(end, 0, descent.k) != eta) return {};
  if (descent.fresh()) return eta;
  const bool same = rate.eta({}, 2, descent.k) == eta && rate.eta({}, 1000, descent.k) == eta;
  return same ? std::optional(eta) : std::nullopt;
}

/// The learning rate of all gradients, where it is one.
std::optional<double> one_eta(const Point& point, const Descent& descent) {
  const bool ruled = !descent.fresh() && point.learning_rate->distance() > 0;
  return ruled ? std::nullopt : largest_eta_used(point, descent);
}

MemorylessRace race_of(const Point& point, const Descent& descent) {
  return {descent.theory.reading, descent.k, point.cluster.learners};
}

/// Where the curve is told: whole numbers of updates, ascending.  Empty without a limit that says
/// how far.
std::vector<std::uint64_t> places(const Point& point, double iteration_time, std::uint32_t k) {
  double last = std::numeric_limits<double>::infinity();
  const Stop& stop = point.stop;
  if (stop.time) last = *stop.time / iteration_time;
  if (stop.updates) last = std::min(last, static_cast<double>(*stop.updates));
  if (stop.gradients) last = std::min(last, std::ceil(static_cast<double>(*stop.gradients) / k));
  if (!(last < most_steps)) return {};
  last = std::floor(last);
  constexpr double few = 100, most = 1000;
  const auto& every = point.evaluations.every_time;
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
std::optional<ErrorStep> step_of_distance(const Point& point, const Descent& descent, double eta) {
  const double distance = point.learning_rate->distance() * eta;
  if (distance == 0 || descent.k != 1) return {};
  return distance_step(descent.quadratic.constants(), eta, descent.p0, distance);
}

/// Of a value on that basis, told at a time on that one.  Losses fall: a time that is too late
/// makes a loss too large.
Basis joined(Basis loss, Basis time) {
  if (loss == Basis::exact) return time;
  return time == Basis::exact || time == loss ? loss : Basis::approximate;
}

}  // namespace

std::vector<ErrorCurve> error_curves(const Point& point) {
  const auto descent = descent_of(point);
  if (!descent || !descent->theory.iteration_time) return {};
  const auto [iteration_time, time_basis] = *descent->theory.iteration_time;
  const auto updates = places(point, iteration_time, descent->k);
  const auto curvatures = static_cast<double>(descent->quadratic.directions.size());
  if (updates.empty() || static_cast<double>(updates.back()) * curvatures > most_steps) return {};

  std::vector<ErrorCurve> curves;
  const auto add = [&](Basis basis, const char* source, std::vector<double> values,
                       ErrorCurve::Of of = ErrorCurve::Of::loss) {
    if (values.empty()) return;
    ErrorCurve curve{of, joined(basis, time_basis), source, updates, {}, std::move(values)};
    for (const auto update : updates)
      curve.times.push_back(static_cast<double>(update) * iteration_time);
    curves.push_back(std::move(curve));
  };
  const ProblemConstants problem = descent->quadratic.constants();
  if (descent->fresh()) {
    const Rates eta = [&](std::uint64_t update) { return eta_at(point, *descent, update); };
    add(Basis::exact, "second moments", fresh_losses(descent->quadratic, descent->k, eta, updates));
    add(Basis::upper, "Lemma 2", fresh_bounds(problem, descent->k, eta, updates));
  }
  const auto eta = one_eta(point, *descent);
  if (eta && descent->stale()) {
    add(Basis::exact, "second moments",
        memoryless_losses(descent->quadratic, race_of(point, *descent), *eta, updates));
  }
  const auto gamma_prime = descent->gamma_prime();
  if (eta && gamma_prime) {
    const auto step = stale_step(problem, descent->k, *eta, *gamma_prime);
    if (!descent->fresh()) add(Basis::upper, "Theorem 3", bounds_of(step, problem.gap, updates));
    add(Basis::upper, "Theorem 5", gradient_bounds(*descent, *eta, *gamma_prime, updates),
        ErrorCurve::Of::squared_gradient);
  }
  if (const auto ceiling = largest_eta_used(point, *descent); ceiling && !descent->fresh()) {
    add(Basis::approximate, "Theorem 4",
        bounds_of(step_of_distance(point, *descent, *ceiling), problem.gap, updates));
  }
  return curves;
}

std::optional<double> error_floor(const Point& point) {
  const auto descent = descent_of(point);
  const auto eta = descent ? one_eta(point, *descent) : std::nullopt;
  if (!eta) return {};
  if (descent->fresh()) return fresh_floor(descent->quadratic, descent->k, *eta);
  if (!descent->stale()) return {};
  return memoryless_floor(descent->quadratic, race_of(point, *descent), *eta);
}

std::optional<double> error_floor_bound(const Point& point) {
  const auto descent = descent_of(point);
  const auto eta = descent ? one_eta(point, *descent) : std::nullopt;
  const auto gamma_prime = eta ? descent->gamma_prime() : std::nullopt;
  if (!gamma_prime) return {};
  const auto step = stale_step(descent->quadratic.constants(), descent->k, *eta, *gamma_prime);
  return step ? std::optional(step->floor()) : std::nullopt;
}

std::optional<double> largest_bounded_eta(const Point& point) {
  const auto descent = descent_of(point);
  const auto gamma_prime = descent ? descent->gamma_prime() : std::nullopt;
  if (!gamma_prime) return {};
  return largest_eta(descent->quadratic.constants(), descent->k, *gamma_prime);
}

std::optional<Estimate> stable_eta(const Point& point) {
  const Rule& rule = point.rule;
  const bool linear =
      !rule.rmsprop && point.recipe.clip == 0 && (!rule.nesterov || rule.momentum == 0);
  if (!point.with_model() || !point.model->quadratic() || !linear) return {};
  const double smoothness = noisy(*point.model->quadratic()).constants().smoothness;
  const Theory theory = point.theory();
  if (!theory.staleness) return {};
  const std::uint32_t k = point.make_protocol()->k();
  const auto law = point.common_law();
  const bool follows = law && theory.reading != ReadOrder::other && *theory.staleness > 0;
  if (follows && law->ageing() == Ageing::memoryless && rule.momentum == 0) {
    const double step = memoryless_stable_step({theory.reading, k, point.cluster.learners});
    return Estimate{step / smoothness, Basis::exact};
  }
  const bool one_staleness = *theory.staleness == 0 || (follows && k == 1 && law->variance() == 0);
  return Estimate{largest_stable_step(*theory.staleness, rule.momentum) / smoothness,
                  one_staleness ? Basis::exact : Basis::approximate};
}

std::string error_curve_rows(const Scenario& scenario) {
  Csv csv;
  for (std::size_t number = 0; number < scenario.points.size(); ++number) {
    for (const auto& curve : error_curves(scenario.points[number])) {
      for (std::size_t i = 0; i < curve.updates.size(); ++i) {
        const bool is_loss = curve.of == ErrorCurve::Of::loss;
        csv.row(number, curve.times[i], is_loss ? curve.values[i] : not_known,
                basis_name(curve.basis), curve.source, curve.updates[i],
                is_loss ? not_known : curve.values[i]);
      }
    }
  }
  return csv.text();
}

}  // namespace gradrace
