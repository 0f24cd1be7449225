#pragma once

#include "models/cpu/kernels/elementary.h"
#include "models/cpu/kernels/kernels.h"

/// Losses of scores and their derivatives.  A sum over classes is that over 16 lanes, class c in
/// lane c mod 16, and then the tree of Lanes::total.
namespace gradrace::kernels {
namespace {

/// The lanes of classes from c on that exist; the others are padding.
GRADRACE_INLINE Lanes::Mask classes_among(std::size_t c, std::size_t outputs) {
  return Lanes::all(static_cast<float>(outputs) - static_cast<float>(c)) > Lanes::places();
}

GRADRACE_INLINE float greatest_score(const float* s, std::size_t outputs) {
  const Lanes none = Lanes::all(-__builtin_inff());
  Lanes top = none;
  for (std::size_t c = 0; c < outputs; c += lane_count) {
    const Lanes x = Lanes::select(classes_among(c, outputs), Lanes::load(s + c), none);
    top = Lanes::select(x > top, x, top);
  }
  return top.greatest();
}

/// exp(s - top) of a class, 0 of padding.
GRADRACE_INLINE Lanes weight_of(const float* s, float top, std::size_t c, std::size_t outputs) {
  const Lanes e = exponential(Lanes::load(s + c) - Lanes::all(top));
  return Lanes::select(classes_among(c, outputs), e, Lanes::all(0));
}

/// Of the classes from c on, from their weights e and all classes' total.
GRADRACE_INLINE Lanes slope_of(Lanes e, float total, std::size_t c, std::size_t outputs,
                               std::uint8_t own, float share) {
  const Lanes zero = Lanes::all(0);
  const auto is_own =
      Lanes::places() == Lanes::all(static_cast<float>(own) - static_cast<float>(c));
  const Lanes slope =
      (e / Lanes::all(total) - Lanes::select(is_own, Lanes::all(1), zero)) * Lanes::all(share);
  return Lanes::select(classes_among(c, outputs), slope, zero);
}

void softmax_slopes(float* s, std::size_t n, std::size_t columns, std::size_t outputs,
                    const std::uint8_t* classes, float share) {
  for (std::size_t r = 0; r < n; ++r, s += columns) {
    const float top = greatest_score(s, outputs);
    if (columns == lane_count) {
      const Lanes e = weight_of(s, top, 0, outputs);
      slope_of(e, e.total(), 0, outputs, classes[r], share).store(s);
      continue;
    }
    Lanes sum = Lanes::all(0);
    for (std::size_t c = 0; c < outputs; c += lane_count) {
      const Lanes e = weight_of(s, top, c, outputs);
      e.store(s + c);
      sum = sum + e;
    }
    const float total = sum.total();
    for (std::size_t c = 0; c < columns; c += lane_count)
      slope_of(Lanes::load(s + c), total, c, outputs, classes[r], share).store(s + c);
  }
}

/// Of the greatest, the first of equal ones.
GRADRACE_INLINE std::size_t best_class(const float* s, std::size_t outputs) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < outputs; ++c)
    if (s[c] > s[best]) best = c;
  return best;
}

void softmax_losses(const float* s, std::size_t n, std::size_t columns, std::size_t outputs,
                    const std::uint8_t* classes, float* losses, float* wrong) {
  for (std::size_t first = 0; first < n; first += lane_count) {
    float total[lane_count], lead[lane_count];
    for (std::size_t i = 0; i < lane_count; ++i) total[i] = 1, lead[i] = 0;
    for (std::size_t i = 0; i < lane_count && first + i < n; ++i) {
      const float* const row = s + (first + i) * columns;
      const std::size_t own = classes[first + i];
      const float top = greatest_score(row, outputs);
      Lanes sum = Lanes::all(0);
      for (std::size_t c = 0; c < outputs; c += lane_count)
        sum = sum + weight_of(row, top, c, outputs);
      total[i] = sum.total();
      lead[i] = top - row[own];
      wrong[first + i] = best_class(row, outputs) != own ? 1 : 0;
    }
    (Lanes::load(lead) + logarithm(Lanes::load(total))).store(losses + first);
  }
}

/// Of one row of values' scores; lanes beyond the values are of no use.
GRADRACE_INLINE void softmax_of_values(const float* s, std::size_t outputs, std::size_t values,
                                       std::size_t own, float* losses, float* wrong) {
  Lanes top = Lanes::load(s), best = Lanes::all(0);
  for (std::size_t c = 1; c < outputs; ++c) {
    const Lanes x = Lanes::load(s + c * values);
    const auto beats = x > top;
    top = Lanes::select(beats, x, top);
    best = Lanes::select(beats, Lanes::all(static_cast<float>(c)), best);
  }
  Lanes sum[lane_count];
  for (Lanes& each : sum) each = Lanes::all(0);
  for (std::size_t c = 0; c < outputs; ++c)
    sum[c % lane_count] = sum[c % lane_count] + exponential(Lanes::load(s + c * values) - top);
  for (std::size_t half = lane_count / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sum[i] = sum[i] + sum[i + half];
  const Lanes lead = top - Lanes::load(s + own * values);
  (lead + logarithm(sum[0])).store(losses);
  const auto right = best == Lanes::all(static_cast<float>(own));
  Lanes::select(right, Lanes::all(0), Lanes::all(1)).store(wrong);
}

GRADRACE_INLINE void logistic_of_values(const float* s, bool one, float* losses, float* wrong) {
  const Lanes x = Lanes::load(s), zero = Lanes::all(0);
  const Lanes margin = one ? zero - x : x;
  const Lanes rest = logarithm_of_one_and(exponential(zero - magnitude(x)));
  (Lanes::select(zero > margin, zero, margin) + rest).store(losses);
  Lanes::select(x > zero, Lanes::all(one ? 0 : 1), Lanes::all(one ? 1 : 0)).store(wrong);
}

void losses_of_values(LossKind loss, const float* s, std::size_t n, std::size_t outputs,
                      std::size_t values, const RowLabels& labels, float* losses, float* wrong) {
  const std::size_t numbers = in_lanes(outputs * values);
  for (std::size_t r = 0; r < n; ++r, s += numbers, losses += lane_count, wrong += lane_count) {
    if (loss == LossKind::cross_entropy) {
      softmax_of_values(s, outputs, values, labels.classes[r], losses, wrong);
    } else if (loss == LossKind::logistic) {
      logistic_of_values(s, labels.classes[r] == 1, losses, wrong);
    } else {
      const Lanes residual = Lanes::load(s) - Lanes::all(labels.targets[r]);
      (residual * residual / Lanes::all(2)).store(losses);
    }
  }
}

void slopes_of_one(LossKind loss, float* s, std::size_t n, const RowLabels& labels, float share) {
  const Lanes of_row = Lanes::all(share), one = Lanes::all(1);
  for (std::size_t first = 0; first < n; first += lane_count) {
    float label[lane_count];
    for (std::size_t i = 0; i < lane_count; ++i) {
      const std::size_t r = first + i < n ? first + i : first;
      label[i] = loss == LossKind::half_square ? labels.targets[r] : labels.classes[r];
    }
    const Lanes x = Lanes::load(s + first), of_label = Lanes::load(label);
    if (loss == LossKind::half_square) {
      ((x - of_label) * of_row).store(s + first);
      continue;
    }
    const auto positive = x > Lanes::all(0);
    const Lanes e = exponential(Lanes::all(0) - magnitude(x));
    const Lanes up = Lanes::select(positive, one, e) / (one + e);
    const Lanes down = Lanes::select(positive, e, one) / (one + e);
    (Lanes::select(of_label == one, Lanes::all(0) - down, up) * of_row).store(s + first);
  }
}

}  // namespace
}  // namespace gradrace::kernels
