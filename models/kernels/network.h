#pragma once

#include <cmath>

#include "models/kernels/augmentation.h"
#include "models/kernels/batch_normalisation.h"
#include "models/kernels/convolution.h"
#include "models/kernels/dense.h"
#include "models/kernels/loss.h"
#include "models/kernels/padded_convolution.h"
#include "models/kernels/pixel_mean.h"
#include "models/kernels/pooling.h"
#include "models/kernels/response_normalisation.h"
#include "models/kernels/rows.h"
#include "models/kernels/shortcut.h"
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
  GRADRACE_HD std::uint32_t of_part(std::uint32_t part) const {
    return count - part * together < together ? count - part * together : together;
  }
};

/// A model of a data set: layers one after the other, each of which looks at what the one before
/// gives, as Supervised defines its numbers.  The first one has weights.
///
/// plain: every layer is dense or a convolution, and looks at rows as they are kept.  Such a kernel
/// needs fewer registers.  Others look at images written down as numbers, augmented or not, which
/// is little beside what their layers write.
///
/// Work memory of n rows, each with `per_row` numbers: what the layers have there, the images if
/// they are written down, and the losses of rows.
template <class Real, bool plain>
struct Network {
  using Number = Real;

  const Layer* layers;  // [depth]
  std::uint32_t depth, parameters;
  LossKind loss;
  Sampling sampling;
  double l2;
  Split train, test;
  RowList train_rows, test_rows;  // of an evaluation
  bool augments;                  // images
  Images images;
  std::uint32_t written, losses, per_row;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

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
    draw(block, name, rows);
    const auto learn_from = [&](const auto& x) { learn(block, w, x, rows, name.size, work, g); };
    if constexpr (plain) {
      with_rows<Real>(train, rows, learn_from);
    } else {
      Real* const to = work + std::uint64_t{written} * name.size;
      with_rows<Real>(train, rows, [&](const auto& x) {
        if (augments)
          augment(block, name, images, x, to);
        else
          write_down(block, x, name.size, train.features, to);
      });
      learn_from(UnitRows<Real>{to, train.features});
    }
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

  /// rows [m]: those of a minibatch.
  template <class Block>
  GRADRACE_HD void draw(const Block& block, const MinibatchName& name, std::uint32_t* rows) const {
    if (sampling == Sampling::iid)
      draw_iid(name, train.count, rows, block.thread(), block.threads());
    else
      draw_epoch(name, train.count, rows, block.thread(), block.threads());
    block.sync();
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

 private:
  GRADRACE_HD Real* y(std::uint32_t layer, Real* work, std::uint32_t n) const {
    return work + std::uint64_t{layers[layer].y} * n;
  }
  GRADRACE_HD Real* kept(std::uint32_t layer, Real* work, std::uint32_t n) const {
    return work + std::uint64_t{layers[layer].kept} * n;
  }
  GRADRACE_HD Real* by_y(std::uint32_t layer, Real* work, std::uint32_t n) const {
    return work + std::uint64_t{layers[layer].by_y} * n;
  }
  GRADRACE_HD UnitRows<Real> map(std::uint32_t layer, Real* work, std::uint32_t n) const {
    return {y(layer, work, n), layers[layer].units()};
  }
  /// The gradient at the minibatch x of n rows.
  template <class Block, class X>
  GRADRACE_HD void learn(const Block& block, const Real* w, const X& x, const std::uint32_t* rows,
                         std::uint32_t n, Real* work, Real* g) const {
    forward(block, w, x, n, work, g);
    Real* const scores = y(depth - 1, work, n);
    const Labels labels = labels_of(train, rows);
    each(block, n,
         [&](std::uint32_t i) { differentiate(labels, i, n, scores + i * labels.scores); });
    block.sync();
    backward(block, w, x, n, work, g);
  }

  /// What layer l looks at; x is what the first one does.
  template <class X>
  GRADRACE_HD UnitRows<Real> before(std::uint32_t l, const X& x, Real* work,
                                    std::uint32_t n) const {
    if constexpr (!plain)
      if (l == 0) return x;
    return map(l - 1, work, n);
  }

  /// g: where a minibatch's statistics go; null in an evaluation, which takes w's.
  template <class Block, class X>
  GRADRACE_HD void forward(const Block& block, const Real* w, const X& x, std::uint32_t n,
                           Real* work, Real* g) const {
    if constexpr (plain) weighted_forward(block, 0, w, x, n, work);
    for (std::uint32_t l = plain ? 1 : 0; l < depth; ++l) {
      const UnitRows<Real> from = before(l, x, work, n);
      if (plain || layers[l].depth > 0)
        weighted_forward(block, l, w, from, n, work);
      else
        map_forward(block, l, w, from, n, work, g);
    }
  }

  template <class Block, class X>
  GRADRACE_HD void weighted_forward(const Block& block, std::uint32_t l, const Real* w, const X& x,
                                    std::uint32_t n, Real* work) const {
    const Layer layer = layers[l];
    if (layer.kind == LayerKind::convolution)
      convolution_forward(block, layer, w, x, n, y(l, work, n), kept(l, work, n));
    else if (!plain && layer.kind == LayerKind::padded_convolution)
      padded_convolution_forward(block, layer, w, x, n, y(l, work, n));
    else
      dense_forward(block, layer, w, x, n, y(l, work, n));
  }

  template <class Block>
  GRADRACE_HD void map_forward(const Block& block, std::uint32_t l, const Real* w,
                               const UnitRows<Real>& x, std::uint32_t n, Real* work,
                               Real* g) const {
    const Layer layer = layers[l];
    Real* const to = y(l, work, n);
    switch (layer.kind) {
      case LayerKind::batch_normalisation:
        if (g != nullptr) batch_statistics(block, layer, x, n, g);
        batch_normalisation_forward(block, layer, w, g != nullptr ? g : w, x, n, to);
        break;
      case LayerKind::response_normalisation:
        response_normalisation_forward(block, layer, x, n, to, kept(l, work, n));
        break;
      case LayerKind::shortcut:
        shortcut_forward(block, layer, map(layer.from, work, n), n, to);
        break;
      case LayerKind::pixel_mean:
        pixel_mean_forward(block, layer, x, n, to);
        break;
      default:
        pooling_forward(block, layer, x, n, to, kept(l, work, n));
    }
  }

  /// From the derivative by the scores, which stands in their place.
  template <class Block, class X>
  GRADRACE_HD void backward(const Block& block, const Real* w, const X& x, std::uint32_t n,
                            Real* work, Real* g) const {
    for (std::uint32_t l = depth; l-- > (plain ? 1 : 0);) {
      const UnitRows<Real> from = before(l, x, work, n);
      if (plain || layers[l].depth > 0)
        weighted_backward(block, l, w, from, n, work, g);
      else if (layers[l].kind == LayerKind::batch_normalisation)
        batch_normalisation_backward(block, layers[l], from, by_y(l, work, n), n, g);
      if (l > 0) propagate(block, l, w, n, work, g);
    }
    if constexpr (plain) weighted_backward(block, 0, w, x, n, work, g);
  }

  template <class Block, class X>
  GRADRACE_HD void weighted_backward(const Block& block, std::uint32_t l, const Real* w, const X& x,
                                     std::uint32_t n, Real* work, Real* g) const {
    const Layer layer = layers[l];
    const Real decay = static_cast<Real>(2 * l2);
    const Real* const dz = by_y(l, work, n);
    if (layer.kind == LayerKind::convolution)
      convolution_backward(block, layer, w, decay, x, dz, kept(l, work, n), n, g);
    else if (!plain && layer.kind == LayerKind::padded_convolution)
      padded_convolution_backward(block, layer, w, decay, x, dz, n, g);
    else
      dense_backward(block, layer, w, decay, x, dz, n, g);
  }

  /// The derivative by what f of the layer before is applied to, or of the one whose maps a
  /// shortcut adds.
  template <class Block>
  GRADRACE_HD void propagate(const Block& block, std::uint32_t l, const Real* w, std::uint32_t n,
                             Real* work, const Real* g) const {
    const Layer layer = layers[l];
    const std::uint32_t to = !plain && layer.kind == LayerKind::shortcut ? layer.from : l - 1;
    const UnitRows<Real> x = map(to, work, n);
    Real* const by_x = by_y(to, work, n);
    const Function f = layers[to].f;
    const Real* const dz = by_y(l, work, n);
    const auto store = [=](std::uint32_t i, std::uint32_t k, Real d) {
      const Real share = d * slope(f, x(i, k));
      Real& sum = by_x[i * x.width + k];
      sum = !plain && layer.adds ? sum + share : share;
    };
    if (layer.kind == LayerKind::dense)
      dense_propagate(block, layer, w, dz, n, store);
    else if (layer.kind == LayerKind::convolution)
      convolution_propagate(block, layer, w, dz, kept(l, work, n), n, store);
    else if constexpr (!plain)
      map_propagate(block, l, w, x, n, work, g, store);
  }

  template <class Block, class Store>
  GRADRACE_HD void map_propagate(const Block& block, std::uint32_t l, const Real* w,
                                 const UnitRows<Real>& x, std::uint32_t n, Real* work,
                                 const Real* g, const Store& store) const {
    const Layer layer = layers[l];
    const Real* const dz = by_y(l, work, n);
    switch (layer.kind) {
      case LayerKind::padded_convolution:
        return padded_convolution_propagate(block, layer, w, dz, n, store);
      case LayerKind::batch_normalisation:
        return batch_normalisation_propagate(block, layer, w, x, dz, n, g, store);
      case LayerKind::response_normalisation:
        return response_normalisation_propagate(block, layer, x, y(l, work, n), kept(l, work, n),
                                                dz, n, store);
      case LayerKind::shortcut:
        return shortcut_propagate(block, layer, dz, n, store);
      case LayerKind::pixel_mean:
        return pixel_mean_propagate(block, layer, dz, n, store);
      default:
        return pooling_propagate(block, layer, dz, kept(l, work, n), n, store);
    }
  }

  template <class Block>
  GRADRACE_HD void evaluate_rows(const Block& block, const Real* w, const Split& split,
                                 const RowList& list, std::uint32_t part, Real* work,
                                 EvaluationPart* result) const {
    const std::uint32_t n = list.of_part(part);
    const std::uint32_t* const numbers = list.numbers + part * RowList::together;
    if constexpr (plain) {
      with_rows<Real>(split, numbers,
                      [&](const auto& x) { forward(block, w, x, n, work, nullptr); });
    } else {
      Real* const to = work + std::uint64_t{written} * n;
      with_rows<Real>(split, numbers,
                      [&](const auto& x) { write_down(block, x, n, split.features, to); });
      forward(block, w, UnitRows<Real>{to, split.features}, n, work, nullptr);
    }
    add_up_rows(block, split, numbers, n, y(depth - 1, work, n), layers[depth - 1].outputs,
                work + std::uint64_t{losses} * n, result);
  }
};

}  // namespace gradrace::kernels
