#include "models/optimiser/optimiser.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace gradrace {

namespace {

/// In double, and in partial sums that do not wait for each other.
template <class Term>
double sum_of_squares(std::size_t terms, Term term) {
  constexpr std::size_t lanes = 8;
  double sums[lanes] = {};
  std::size_t j = 0;
  for (; j + lanes <= terms; j += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double x = term(j + lane);
      sums[lane] += x * x;
    }
  }
  for (; j < terms; ++j) sums[0] += term(j) * term(j);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

/// RmsProp: step becomes the sum of weight g / sqrt(s' + epsilon).
template <class Real>
void rescale(const State<Real>& base, const RmsProp& rule, double rate, std::span<Real> step,
             State<Real>& out) {
  const Real decay = static_cast<Real>(rule.decay), epsilon = static_cast<Real>(rule.epsilon);
  const Real per_rate = static_cast<Real>(1 / rate);
  for (std::size_t j = 0; j < step.size(); ++j) {
    const Real g = step[j] * per_rate;
    const Real s = decay * base.mean_square[j] + (1 - decay) * g * g;
    out.mean_square[j] = s;
    step[j] /= std::sqrt(s + epsilon);
  }
}

/// Nothing can be divided by it.
template <class Real>
bool vanishes(double rate) {
  return !(rate >= std::numeric_limits<Real>::min());
}

template <class Real>
void descend(const State<Real>& base, const Rule& rule, double rate, std::span<const Real> step,
             State<Real>& out) {
  if (base.velocity.empty()) {
    for (std::size_t j = 0; j < step.size(); ++j) out.w[j] = base.w[j] - step[j];
    return;
  }
  if (rule.of_gradients && vanishes<Real>(rate)) {
    out.velocity = base.velocity;
    out.w = base.w;
    return;
  }
  const Real momentum = static_cast<Real>(rule.momentum);
  const Real kept = rule.from_rest ? Real(0) : momentum;
  const Real of_step = static_cast<Real>(rule.of_gradients ? 1 / rate : 1);
  const Real scale = static_cast<Real>(rule.of_gradients ? rate : 1);
  for (std::size_t j = 0; j < step.size(); ++j) {
    const Real change = of_step * step[j];
    const Real velocity = kept * base.velocity[j] + change;
    out.velocity[j] = velocity;
    out.w[j] = base.w[j] - scale * (rule.nesterov ? momentum * velocity + change : velocity);
  }
}

/// The statistics of out, from the sum of weight times those of a gradient.
template <class Real>
void merge(const State<Real>& base, const Statistics& statistics, double rate,
           std::span<const Real> sum, State<Real>& out) {
  const std::span<const Real> before = carried<const Real>(base.w, statistics);
  const std::span<Real> after = carried<Real>(out.w, statistics);
  const Real decay = static_cast<Real>(statistics.decay), per_rate = static_cast<Real>(1 / rate);
  for (std::size_t j = 0; j < sum.size(); ++j)
    after[j] = decay * before[j] + (1 - decay) * (sum[j] * per_rate);
}

template <class Real>
void average(const State<Real>& base, const Rule& rule, State<Real>& out) {
  const Real share = static_cast<Real>(1 - rule.ema);
  for (std::size_t j = 0; j < out.w.size(); ++j) {
    out.average[j] = base.average[j] + share * (out.w[j] - base.average[j]);
  }
}

}  // namespace

template <class Real>
double clip_factor(double clip, std::span<const Real> gradient) {
  const double norm = std::sqrt(sum_of_squares(
      gradient.size(), [&](std::size_t j) { return static_cast<double>(gradient[j]); }));
  return norm > clip ? clip / norm : 1;
}

template <class Real>
double distance_factor(double distance, std::span<const Real> base, std::span<const Real> at) {
  const double squared = sum_of_squares(
      base.size(), [&](std::size_t j) { return static_cast<double>(base[j] - at[j]); });
  return std::min(1.0, distance / squared);
}

template <class Real>
void complete(State<Real>& initial, std::span<const Rule> rules, const Statistics& statistics) {
  const auto needed = [&](auto by) { return std::ranges::any_of(rules, by); };
  const std::size_t d = initial.w.size() - statistics.count;
  const bool momentum = needed([](const Rule& rule) { return rule.momentum != 0; });
  const bool rmsprop = needed([](const Rule& rule) { return rule.rmsprop.has_value(); });
  const bool ema = needed([](const Rule& rule) { return rule.ema != 0; });
  initial.velocity.assign(momentum ? d : 0, Real(0));
  initial.mean_square.assign(rmsprop ? d : 0, Real(1));
  initial.average.assign(initial.w.begin(), ema ? initial.w.end() : initial.w.begin());
}

template <class Real>
void apply_rule(const State<Real>& base, const Rule& rule, const Statistics& statistics,
                double rate, std::span<Real> step, State<Real>& out) {
  out.w.resize(base.w.size());
  out.velocity.resize(base.velocity.size());
  out.mean_square.resize(base.mean_square.size());
  out.average.resize(base.average.size());
  const bool vanishing = vanishes<Real>(rate);
  const std::span<Real> learning = learnt(step, statistics);
  if (rule.rmsprop && !vanishing) {
    rescale(base, *rule.rmsprop, rate, learning, out);
  } else if (!base.mean_square.empty()) {
    out.mean_square = base.mean_square;
  }
  descend<Real>(base, rule, rate, learning, out);
  if (vanishing)
    std::ranges::copy(carried<const Real>(base.w, statistics),
                      carried<Real>(out.w, statistics).begin());
  else
    merge<Real>(base, statistics, rate, carried(step, statistics), out);
  if (!base.average.empty()) average(base, rule, out);
}

template double clip_factor(double, std::span<const float>);
template double clip_factor(double, std::span<const double>);
template double distance_factor(double, std::span<const float>, std::span<const float>);
template double distance_factor(double, std::span<const double>, std::span<const double>);
template void complete(State<float>&, std::span<const Rule>, const Statistics&);
template void complete(State<double>&, std::span<const Rule>, const Statistics&);
template void apply_rule(const State<float>&, const Rule&, const Statistics&, double,
                         std::span<float>, State<float>&);
template void apply_rule(const State<double>&, const Rule&, const Statistics&, double,
                         std::span<double>, State<double>&);

}  // namespace gradrace
