#include "models/optimiser.h"

#include <algorithm>
#include <iterator>
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

}  // namespace

template <class Real>
double rate_factor(const Rule& rule, std::span<const Real> base, std::span<const Real> at) {
  if (rule.distance == 0) return 1;
  const double squared = sum_of_squares(
      base.size(), [&](std::size_t j) { return static_cast<double>(base[j] - at[j]); });
  return std::min(1.0, rule.distance / squared);
}

template <class Real>
void complete(State<Real>& initial, std::span<const Rule> rules) {
  const bool momentum =
      std::ranges::any_of(rules, [](const Rule& rule) { return rule.momentum != 0; });
  initial.velocity.assign(momentum ? initial.w.size() : 0, Real(0));
}

template <class Real>
void apply_rule(const State<Real>& base, const Rule& rule, std::span<const Real> step,
                State<Real>& out) {
  const std::size_t d = base.w.size();
  out.w.resize(d);
  out.velocity.resize(base.velocity.size());
  if (base.velocity.empty()) {
    for (std::size_t j = 0; j < d; ++j) out.w[j] = base.w[j] - step[j];
    return;
  }
  const Real momentum = static_cast<Real>(rule.momentum);
  for (std::size_t j = 0; j < d; ++j) {
    const Real velocity = momentum * base.velocity[j] + step[j];
    out.velocity[j] = velocity;
    out.w[j] = base.w[j] - (rule.nesterov ? momentum * velocity + step[j] : velocity);
  }
}

template double rate_factor(const Rule&, std::span<const float>, std::span<const float>);
template double rate_factor(const Rule&, std::span<const double>, std::span<const double>);
template void complete(State<float>&, std::span<const Rule>);
template void complete(State<double>&, std::span<const Rule>);
template void apply_rule(const State<float>&, const Rule&, std::span<const float>, State<float>&);
template void apply_rule(const State<double>&, const Rule&, std::span<const double>,
                         State<double>&);

}  // namespace gradrace
