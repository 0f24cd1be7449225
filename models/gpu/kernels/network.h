#pragma once

#include <cmath>

#include "models/gpu/kernels/rows.h"
#include "models/gpu/kernels/sums.h"
#include "models/layers/base/layer.h"
#include "models/layers/base/row_loss.h"
#include "models/sampling/cut.h"
#include "models/sampling/minibatch.h"

namespace gradrace::kernels {

/// Sums of one part of an evaluation.
struct EvaluationPart {
  double loss, wrong;
};

/// Sums over the rows of training and test, and the regulariser.
struct EvaluationSums {
  double train_loss, test_loss, test_wrong, penalty;
};

/// Rows used by an evaluation.
struct RowList {
  const std::uint32_t* numbers;  // [count]
  std::uint32_t count;

  static constexpr std::uint32_t together = 64;  // in one part

  GRADRACE_HD std::uint32_t parts() const { return (count + together - 1) / together; }
  GRADRACE_HD std::uint32_t of_part(std::uint32_t part) const {
    return count - part * together < together ? count - part * together : together;
  }
};

/// A model of a data set: layers, each of which takes the output of the one before, as Supervised
/// defines its numbers.  The first one has weights.
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
  bool tf32x3;                    // products of float32 by three of TF32
  bool augments;                  // images
  ImageShape images;

  static constexpr std::uint32_t threads = 256, at_once = 1;

  /// Of both lists of rows, and of the parameters.
  GRADRACE_HD std::uint32_t parts() const { return train_rows.parts() + test_rows.parts() + 1; }

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

  /// rows [m]: the part of a minibatch that falls to one of so many threads.
  GRADRACE_HD void draw(const MinibatchName& name, std::uint32_t* rows, std::uint32_t thread,
                        std::uint32_t of_threads) const {
    if (sampling == Sampling::iid)
      draw_iid(name, train.count, rows, thread, of_threads);
    else
      draw_epoch(name, train.count, rows, thread, of_threads);
  }

  GRADRACE_HD Labels labels_of(const Split& split, const std::uint32_t* numbers) const {
    return {loss, split.classes, split.targets, numbers, layers[depth - 1].outputs};
  }

  /// Loss and errors of n rows with those scores [n, stride], written by thread 0; of_rows [2 n] is
  /// work memory.
  template <class Block>
  GRADRACE_HD void add_up_rows(const Block& block, const Split& split, const std::uint32_t* numbers,
                               std::uint32_t n, const Real* scores, std::uint32_t stride,
                               Real* of_rows, EvaluationPart* result) const {
    const Labels labels = labels_of(split, numbers);
    auto* const losses_of = reinterpret_cast<RowLoss<Real>*>(of_rows);
    each(block, n,
         [&](std::uint32_t i) { losses_of[i] = row_loss(labels, i, scores + i * stride); });
    block.sync();
    const double total =
        sum(block, n, [=](std::uint32_t i) { return static_cast<double>(losses_of[i].loss); });
    const double wrong =
        sum(block, n, [=](std::uint32_t i) { return static_cast<double>(losses_of[i].wrong); });
    if (block.thread() == 0) *result = {total, wrong};
  }

  /// The regulariser; NaN if a parameter is not finite.
  template <class Block>
  GRADRACE_HD void evaluate_parameters(const Block& block, const Real* w,
                                       EvaluationPart* result) const {
    double total =
        sum(block, parameters, [=](std::uint32_t j) { return 0 * static_cast<double>(w[j]); });
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
