#pragma once

#include <cmath>

#include "models/kernels/convolution.h"
#include "models/kernels/loss.h"
#include "models/minibatch.h"

namespace gradrace::kernels {

/// What a part of an evaluation adds up.
struct EvaluationPart {
  double loss, wrong;
};

/// Sums over the rows of training and test, and the regulariser.
struct EvaluationSums {
  double train_loss, test_loss, test_wrong, penalty;
};

/// Rows that an evaluation looks at.
struct RowList {
  const std::uint32_t* numbers;  // [count]
  std::uint32_t count;

  static constexpr std::uint32_t together = 64;  // in one part

  GRADRACE_HD std::uint32_t parts() const { return (count + together - 1) / together; }
};

/// A model of a data set: layers one after the other, as Supervised defines its numbers.
///
/// Work memory of n rows, each with `per_row` numbers: every layer's y and winners, two derivatives
/// by units, and the losses of rows.
template <class Real>
struct Network {
  using Number = Real;

  const Layer* layers;  // [depth]
  std::uint32_t depth, parameters;
  LossKind loss;
  Sampling sampling;
  double l2;
  Split train, test;
  RowList train_rows, test_rows;  // of an evaluation
  std::uint32_t derivatives[2], losses, per_row;

  static constexpr std::uint32_t threads = 256;

  /// Numbers of work memory for a gradient of m rows or a part of an evaluation.
  std::uint64_t work(std::uint32_t m) const {
    return std::uint64_t{per_row} * (m > RowList::together ? m : RowList::together);
  }
  /// Row numbers beside it.
  static std::uint32_t work_rows(std::uint32_t m) { return m; }

  /// g [parameters] at w [parameters].
  template <class Block>
  GRADRACE_HD void gradient(const Block& block, const Real* w, const MinibatchName& name,
                            Real* work, std::uint32_t* rows, Real* g) const {
    if (sampling == Sampling::iid)
      draw_iid(name, train.count, rows, block.thread(), block.threads());
    else
      draw_epoch(name, train.count, rows, block.thread(), block.threads());
    block.sync();
    const std::uint32_t n = name.size;
    with_rows<Real>(train, rows, [&](const auto& x) {
      forward(block, w, x, n, work);
      Real* const scores = y(depth - 1, work, n);
      const Labels labels = labels_of(train, rows);
      each(block, n,
           [&](std::uint32_t i) { differentiate(labels, i, n, scores + i * labels.scores); });
      block.sync();
      backward(block, w, x, n, work, g);
    });
  }

  /// Of both lists of rows, and of the parameters.
  GRADRACE_HD std::uint32_t parts() const { return train_rows.parts() + test_rows.parts() + 1; }

  /// One part of the evaluation of w, written by thread 0.
  template <class Block>
  GRADRACE_HD void evaluate(const Block& block, const Real* w, std::uint32_t part, Real* work,
                            EvaluationPart* result) const {
    if (part < train_rows.parts())
      evaluate_rows(block, w, train, train_rows, part, work, result);
    else if (part < train_rows.parts() + test_rows.parts())
      evaluate_rows(block, w, test, test_rows, part - train_rows.parts(), work, result);
    else
      evaluate_parameters(block, w, result);
  }

  /// Of parts [parts()] of one value.
  template <class Block>
  GRADRACE_HD EvaluationSums add_up(const Block& block, const EvaluationPart* parts) const {
    const EvaluationPart* const of_test = parts + train_rows.parts();
    const std::uint32_t count = test_rows.parts();
    return {
        sum(block, train_rows.parts(), [=](std::uint32_t i) { return parts[i].loss; }),
        sum(block, count, [=](std::uint32_t i) { return of_test[i].loss; }),
        sum(block, count, [=](std::uint32_t i) { return of_test[i].wrong; }),
        of_test[count].loss,
    };
  }

 private:
  GRADRACE_HD Real* y(std::uint32_t layer, Real* work, std::uint32_t n) const {
    return work + std::uint64_t{layers[layer].y} * n;
  }
  GRADRACE_HD Real* winners(std::uint32_t layer, Real* work, std::uint32_t n) const {
    return work + std::uint64_t{layers[layer].winners} * n;
  }
  GRADRACE_HD Labels labels_of(const Split& split, const std::uint32_t* numbers) const {
    return {loss, split.classes, split.targets, numbers, layers[depth - 1].outputs};
  }

  template <class Block, class X>
  GRADRACE_HD void forward(const Block& block, const Real* w, const X& x, std::uint32_t n,
                           Real* work) const {
    layer_forward(block, 0, w, x, n, work);
    for (std::uint32_t l = 1; l < depth; ++l)
      layer_forward(block, l, w, UnitRows<Real>{y(l - 1, work, n), layers[l].inputs()}, n, work);
  }

  template <class Block, class X>
  GRADRACE_HD void layer_forward(const Block& block, std::uint32_t l, const Real* w, const X& x,
                                 std::uint32_t n, Real* work) const {
    const Layer layer = layers[l];
    if (layer.convolution)
      convolution_forward(block, layer, w, x, n, y(l, work, n), winners(l, work, n));
    else
      dense_forward(block, layer, w, x, n, y(l, work, n));
  }

  /// From the derivative by the scores, which stands in their place.
  template <class Block, class X>
  GRADRACE_HD void backward(const Block& block, const Real* w, const X& x, std::uint32_t n,
                            Real* work, Real* g) const {
    const Real* dz = y(depth - 1, work, n);
    for (std::uint32_t l = depth - 1; l > 0; --l) {
      const UnitRows<Real> before{y(l - 1, work, n), layers[l].inputs()};
      layer_backward(block, l, w, before, dz, n, work, g);
      Real* const by_before = work + std::uint64_t{derivatives[l % 2]} * n;
      const Function f = layers[l - 1].f;
      const auto store = [=](std::uint32_t i, std::uint32_t k, Real d) {
        by_before[i * before.width + k] = d * slope(f, before(i, k));
      };
      const Layer layer = layers[l];
      if (layer.convolution)
        convolution_propagate(block, layer, w, dz, winners(l, work, n), n, store);
      else
        dense_propagate(block, layer, w, dz, n, store);
      dz = by_before;
    }
    layer_backward(block, 0, w, x, dz, n, work, g);
  }

  template <class Block, class X>
  GRADRACE_HD void layer_backward(const Block& block, std::uint32_t l, const Real* w, const X& x,
                                  const Real* dz, std::uint32_t n, Real* work, Real* g) const {
    const Layer layer = layers[l];
    const Real decay = static_cast<Real>(2 * l2);
    if (layer.convolution)
      convolution_backward(block, layer, w, decay, x, dz, winners(l, work, n), n, g);
    else
      dense_backward(block, layer, w, decay, x, dz, n, g);
  }

  template <class Block>
  GRADRACE_HD void evaluate_rows(const Block& block, const Real* w, const Split& split,
                                 const RowList& list, std::uint32_t part, Real* work,
                                 EvaluationPart* result) const {
    const std::uint32_t first = part * RowList::together;
    const std::uint32_t n =
        list.count - first < RowList::together ? list.count - first : RowList::together;
    const std::uint32_t* const numbers = list.numbers + first;
    with_rows<Real>(split, numbers, [&](const auto& x) { forward(block, w, x, n, work); });
    const Real* const scores = y(depth - 1, work, n);
    const Labels labels = labels_of(split, numbers);
    auto* const of_rows = reinterpret_cast<RowLoss<Real>*>(work + std::uint64_t{losses} * n);
    each(block, n,
         [&](std::uint32_t i) { of_rows[i] = row_loss(labels, i, scores + i * labels.scores); });
    block.sync();
    const double total =
        sum(block, n, [=](std::uint32_t i) { return static_cast<double>(of_rows[i].loss); });
    const double wrong =
        sum(block, n, [=](std::uint32_t i) { return static_cast<double>(of_rows[i].wrong); });
    if (block.thread() == 0) *result = {total, wrong};
  }

  /// The regulariser; no number where a parameter is none or not finite.
  template <class Block>
  GRADRACE_HD void evaluate_parameters(const Block& block, const Real* w,
                                       EvaluationPart* result) const {
    double total =
        sum(block, parameters, [=](std::uint32_t j) { return static_cast<double>(w[j] - w[j]); });
    for (std::uint32_t l = 0; l2 > 0 && l < depth; ++l) {
      const Real* const W = w + layers[l].first;
      total += l2 * sum(block, layers[l].weights(), [=](std::uint32_t j) {
                 return static_cast<double>(W[j]) * static_cast<double>(W[j]);
               });
    }
    if (block.thread() == 0) *result = {total, 0};
  }
};

}  // namespace gradrace::kernels
