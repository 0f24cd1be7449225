#pragma once

#include <cmath>
#include <cstdint>

#include "models/layers/base/loss_kind.h"
#include "sim/quotient.h"

namespace gradrace::kernels {

/// Loss and error of one row.
template <class Real>
struct RowLoss {
  Real loss, wrong;
};

/// The labels of some rows.
struct Labels {
  LossKind kind;
  const std::uint8_t* classes;
  const float* targets;
  const std::uint32_t* numbers;  // of the rows
  std::uint32_t scores;          // of each
};

/// From the scores s [scores] of row i.
template <class Real>
GRADRACE_HD RowLoss<Real> row_loss(const Labels& labels, std::uint32_t i, const Real* s) {
  if (labels.kind == LossKind::half_square) {
    const Real residual = s[0] - static_cast<Real>(labels.targets[labels.numbers[i]]);
    return {residual * residual / 2, 0};
  }
  const std::uint32_t own = labels.classes[labels.numbers[i]];
  if (labels.kind == LossKind::logistic) {
    const Real margin = own == 1 ? -s[0] : s[0];
    return {(margin > 0 ? margin : 0) + std::log1p(std::exp(-std::abs(s[0]))),
            static_cast<Real>((own == 1) != (s[0] > 0))};
  }
  std::uint32_t best = 0;
  for (std::uint32_t c = 1; c < labels.scores; ++c)
    if (s[c] > s[best]) best = c;
  Real total = 0;
  for (std::uint32_t c = 0; c < labels.scores; ++c) total += std::exp(s[c] - s[best]);
  return {s[best] - s[own] + std::log(total), static_cast<Real>(best != own)};
}

/// Of s [scores].
template <class Real>
GRADRACE_HD Real greatest(const Real* s, std::uint32_t scores) {
  Real top = s[0];
  for (std::uint32_t c = 1; c < scores; ++c) top = s[c] > top ? s[c] : top;
  return top;
}

/// The derivative of the mean loss of n rows by the scores s [scores] of row i, one by one.  Cross
/// entropy looks at e [scores] alone: the exponentials of s less their greatest.
template <class Real>
class RowDerivative {
 public:
  GRADRACE_HD RowDerivative(const Labels& labels, std::uint32_t i, std::uint32_t n, const Real* s,
                            const Real* e)
      : kind_(labels.kind), s_(s), e_(e), share_(quotient(Real{1}, static_cast<Real>(n))) {
    if (kind_ == LossKind::half_square) {
      target_ = static_cast<Real>(labels.targets[labels.numbers[i]]);
      return;
    }
    own_ = labels.classes[labels.numbers[i]];
    if (kind_ == LossKind::logistic) return;
    for (std::uint32_t c = 0; c < labels.scores; ++c) total_ += e[c];
  }

  /// By s[c], while s[c] and e[c] are what they were.
  GRADRACE_HD Real operator()(std::uint32_t c) const {
    if (kind_ == LossKind::half_square) return (s_[c] - target_) * share_;
    if (kind_ == LossKind::logistic) {
      const Real e = std::exp(-std::abs(s_[c]));
      const Real up = (s_[c] > 0 ? 1 : e) / (1 + e), down = (s_[c] > 0 ? e : 1) / (1 + e);
      return (own_ == 1 ? -down : up) * share_;
    }
    return (quotient(e_[c], total_) - static_cast<Real>(c == own_)) * share_;
  }

 private:
  LossKind kind_;
  const Real *s_, *e_;
  Real share_, target_ = 0, total_ = 0;
  std::uint32_t own_ = 0;
};

/// s [scores] of row i becomes its derivative.
template <class Real>
GRADRACE_HD void differentiate(const Labels& labels, std::uint32_t i, std::uint32_t n, Real* s) {
  if (labels.kind == LossKind::cross_entropy) {
    const Real top = greatest(s, labels.scores);
    for (std::uint32_t c = 0; c < labels.scores; ++c) s[c] = std::exp(s[c] - top);
  }
  const RowDerivative<Real> of_row(labels, i, n, s, s);
  for (std::uint32_t c = 0; c < labels.scores; ++c) s[c] = of_row(c);
}

}  // namespace gradrace::kernels
