#include "models/optimiser.h"

#include <algorithm>

namespace gradrace {

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

template void complete(State<float>&, std::span<const Rule>);
template void complete(State<double>&, std::span<const Rule>);
template void apply_rule(const State<float>&, const Rule&, std::span<const float>, State<float>&);
template void apply_rule(const State<double>&, const Rule&, std::span<const double>,
                         State<double>&);

}  // namespace gradrace
