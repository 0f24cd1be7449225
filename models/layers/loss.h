#pragma once

#include <cstddef>
#include <memory>

#include "models/datasets/dataset.h"
#include "models/layers/base/row_loss.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// Over some rows.
struct LossSum {
  double loss = 0;
  double wrong = 0;  // rows whose answer is wrong; NaN where answers are not right or wrong
};

/// How far a model's scores s [n, outputs] of a batch are from its labels.
template <class Real>
class Loss {
 public:
  virtual ~Loss() = default;

  /// How many scores a row of the data has.  std::runtime_error where the data have not the labels
  /// that the loss is of.
  virtual std::size_t outputs(const Dataset& data) const = 0;

  /// Adds the batch to the sum, row by row; destroys s.
  virtual void add(const Batch<Real>& batch, Units<Real>& s, LossSum& sum) = 0;

  /// s becomes the derivative of the mean loss by s.
  virtual void differentiate(const Batch<Real>& batch, Units<Real>& s) = 0;
};

/// cross_entropy: -ln p(class | x), p(c | x) = exp(s_c) / sum_k exp(s_k).  The answer is the class
/// of the greatest score, the lowest class winning ties.
///
/// logistic: ln(1 + exp(-y s)), y = 1 for class 1 of two and -1 for class 0.  The answer is class 1
/// where s > 0.
///
/// half_square: (s - target)^2 / 2.
///
/// hinge: max(0, 1 - y s), y = 1 for the class `positive` and -1 for others; its derivative is 0 at
/// y s = 1.  The answer is that class where s > 0.  Kernels and GPUs do not compute it.
template <class Real>
std::unique_ptr<Loss<Real>> make_loss(LossKind kind, std::uint32_t positive = 1);

}  // namespace gradrace
