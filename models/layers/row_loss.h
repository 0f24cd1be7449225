#pragma once

#include <cmath>
#include <cstdint>

#include "models/layers/loss_kind.h"
#include "sim/host_device.h"

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

/// s [scores] of row i becomes the derivative by it of the mean loss of n rows.
template <class Real>
GRADRACE_HD void differentiate(const Labels& labels, std::uint32_t i, std::uint32_t n, Real* s) {
  const Real share = 1 / static_cast<Real>(n);
  if (labels.kind == LossKind::half_square) {
    s[0] = (s[0] - static_cast<Real>(labels.targets[labels.numbers[i]])) * share;
    return;
  }
  const std::uint32_t own = labels.classes[labels.numbers[i]];
  if (labels.kind == LossKind::logistic) {
    const Real e = std::exp(-std::abs(s[0]));
    const Real up = (s[0] > 0 ? 1 : e) / (1 + e), down = (s[0] > 0 ? e : 1) / (1 + e);
    s[0] = (own == 1 ? -down : up) * share;
    return;
  }
  Real top = s[0], total = 0;
  for (std::uint32_t c = 1; c < labels.scores; ++c) top = s[c] > top ? s[c] : top;
  for (std::uint32_t c = 0; c < labels.scores; ++c) total += s[c] = std::exp(s[c] - top);
  for (std::uint32_t c = 0; c < labels.scores; ++c)
    s[c] = (s[c] / total - static_cast<Real>(c == own)) * share;
}

}  // namespace gradrace::kernels
