#pragma once

#include "models/gpu/kernels/network.h"
#include "models/gpu/kernels/tiles.h"

namespace gradrace::kernels {

/// How many outputs of a layer a thread makes at once, and how many numbers a row of them takes.
GRADRACE_HD constexpr std::uint32_t outputs_together(std::uint32_t outputs) {
  return outputs <= 4 ? 4 : outputs == 9 || outputs == 10 ? 10 : 8;
}
GRADRACE_HD constexpr std::uint32_t output_stride(std::uint32_t outputs) {
  const std::uint32_t together = outputs_together(outputs);
  return in_fours((outputs + together - 1) / together * together);
}

/// A dense layer whose weights are in a block's shared memory: each output's row there has its
/// weights, padded with zeros to `depth`, then its b and three zeros.
struct InPlaceLayer {
  std::uint32_t outputs, inputs;
  std::uint32_t depth;     // of a row of weights, and of what it looks at: inputs, in fours
  std::uint32_t stride;    // of a row of outputs
  std::uint32_t first;     // of its parameters
  std::uint32_t weights;   // where its rows begin in shared memory
  std::uint32_t y, delta;  // where a row's outputs and their derivatives are among its factors
  Activation f;

  GRADRACE_HD std::uint32_t row() const { return depth + 4; }
  /// Where parameter j of the layer's stands in shared memory.
  GRADRACE_HD std::uint32_t at(std::uint32_t j) const {
    const std::uint32_t of_weights = outputs * inputs;
    return weights +
           (j < of_weights ? j / inputs * row() + j % inputs : (j - of_weights) * row() + depth);
  }
};

/// A network of dense layers, of a block that keeps the weights W in its shared memory.
///
/// A gradient's factors, of n rows: of each layer y (of the last one its delta instead) and delta,
/// the derivative of the loss by what f is applied to, times the gradient's weight.
template <class Real>
struct InPlaceNetwork {
  using Number = Real;

  Network<Real> of;            // the rest
  const InPlaceLayer* layers;  // [of.depth]
  std::uint32_t weights;       // numbers of W
  std::uint32_t per_row;       // numbers of a row's factors

  static constexpr std::uint32_t threads = 128;
  static constexpr std::uint32_t at_once = sizeof(Real) == 4 ? 4 : 2;
  std::size_t shared_numbers() const { return scratch_numbers + weights; }

  /// Numbers of work memory for a part of an evaluation.
  std::uint64_t work() const { return std::uint64_t{per_row + 2} * RowList::together; }

  /// Of the factors of n rows; of the last layer both are one.
  GRADRACE_HD Real* y(std::uint32_t l, Real* factors, std::uint32_t n) const {
    return factors + std::uint64_t{layers[l].y} * n;
  }
  GRADRACE_HD Real* delta(std::uint32_t l, Real* factors, std::uint32_t n) const {
    return factors + std::uint64_t{layers[l].delta} * n;
  }

  template <class Block>
  GRADRACE_HD Real* weights_of(const Block& block) const {
    return block.template scratch<Real>() + scratch_numbers;
  }

  /// W = w [parameters].
  template <class Block>
  GRADRACE_HD void load(const Block& block, const Real* w) const {
    Real* const W = weights_of(block);
    for (std::uint32_t l = 0; l < of.depth; ++l) {
      const InPlaceLayer layer = layers[l];
      const Real* const from = w + layer.first;
      each(block, layer.outputs * layer.row(), [&](std::uint32_t i) {
        const std::uint32_t o = i / layer.row(), k = i % layer.row();
        Real number = 0;
        if (k < layer.inputs) number = from[o * layer.inputs + k];
        if (k == layer.depth) number = from[layer.outputs * layer.inputs + o];
        W[layer.weights + i] = number;
      });
    }
    block.sync();
  }

  /// The other way.
  template <class Block>
  GRADRACE_HD void store(const Block& block, Real* w) const {
    const Real* const W = weights_of(block);
    for (std::uint32_t l = 0; l < of.depth; ++l) {
      const InPlaceLayer layer = layers[l];
      each(block, layer.outputs * (layer.inputs + 1),
           [&](std::uint32_t j) { w[layer.first + j] = W[layer.at(j)]; });
    }
    block.sync();
  }

  /// The factors of weight times a minibatch's gradient at W, and its rows [m].
  template <class Block>
  GRADRACE_HD void factor(const Block& block, const MinibatchName& name, Real weight,
                          std::uint32_t* rows, Real* factors) const {
    const std::uint32_t n = name.size, last = of.depth - 1;
    of.draw(block, name, rows);
    with_fours<Real>(of.train, rows, [&](const auto& x) { forward(block, x, n, factors); });
    Real* const scores = delta(last, factors, n);
    const std::uint32_t stride = layers[last].stride;
    const Labels labels = of.labels_of(of.train, rows);
    each(block, n, [&](std::uint32_t i) {
      differentiate(labels, i, n, scores + i * stride);
      for (std::uint32_t c = 0; c < labels.scores; ++c) scores[i * stride + c] *= weight;
    });
    block.sync();
    for (std::uint32_t l = last; l > 0; --l) propagate(block, l, n, factors);
  }

  /// Moves W by the sum over the uses of weight g, number by number: w = moved(its number among the
  /// parameters, that sum, w); where `plain`, that is w - sum.  use(u) has rows, factors, n, weight
  /// and, where the loss has a regulariser, the parameters `at` which it was computed; null: W.
  template <class Block, class Use, class Moved>
  GRADRACE_HD void apply(const Block& block, std::uint32_t uses, const Use& use, bool plain,
                         const Moved& moved) const {
    for (std::uint32_t l = 0; l < of.depth; ++l) {
      const std::uint32_t together = outputs_together(layers[l].outputs);
      if (together == 4)
        apply_layer<4>(block, l, uses, use, plain, moved);
      else if (together == 10)
        apply_layer<10>(block, l, uses, use, plain, moved);
      else
        apply_layer<8>(block, l, uses, use, plain, moved);
    }
    block.sync();
  }

  GRADRACE_HD std::uint32_t parts() const { return of.parts(); }

  template <class Block>
  GRADRACE_HD EvaluationSums add_up(const Block& block, const EvaluationPart* parts) const {
    return of.add_up(block, parts);
  }

  /// One part of the evaluation of w, written by thread 0.
  template <class Block>
  GRADRACE_HD void evaluate(const Block& block, const Real* w, std::uint32_t part, Real* work,
                            EvaluationPart* result) const {
    const std::uint32_t of_train = of.train_rows.parts(), rows = of_train + of.test_rows.parts();
    if (part == rows) return of.evaluate_parameters(block, w, result);
    load(block, w);
    if (part < of_train)
      evaluate_rows(block, of.train, of.train_rows, part, work, result);
    else
      evaluate_rows(block, of.test, of.test_rows, part - of_train, work, result);
  }

 private:
  template <class Block, class X>
  GRADRACE_HD void forward(const Block& block, const X& x, std::uint32_t n, Real* factors) const {
    forward_layer(block, 0, x, n, factors);
    for (std::uint32_t l = 1; l < of.depth; ++l)
      forward_layer(block, l, Fours<Real>{y(l - 1, factors, n), layers[l].depth}, n, factors);
  }

  template <class Block, class X>
  GRADRACE_HD void forward_layer(const Block& block, std::uint32_t l, const X& x, std::uint32_t n,
                                 Real* factors) const {
    const std::uint32_t together = outputs_together(layers[l].outputs);
    if (together == 4)
      forward_tiles<4>(block, l, x, n, factors);
    else if (together == 10)
      forward_tiles<10>(block, l, x, n, factors);
    else
      forward_tiles<8>(block, l, x, n, factors);
  }

  /// Some rows after the others, so that there is scratch memory to cut their sums.
  template <std::uint32_t together, class Block, class X>
  GRADRACE_HD void forward_tiles(const Block& block, std::uint32_t l, const X& x, std::uint32_t n,
                                 Real* factors) const {
    const InPlaceLayer layer = layers[l];
    const Real* const W = weights_of(block) + layer.weights;
    const std::uint32_t chunk = inner_rows(layer.outputs);
    for (std::uint32_t first = 0; first < n; first += chunk) {
      Real* const to = y(l, factors, n) + first * layer.stride;
      inner_tiles<Real, 4, together>(
          block, n - first < chunk ? n - first : chunk, layer.outputs, layer.depth,
          [&](std::uint32_t i, std::uint32_t k) { return x(first + i, k); },
          Fours<Real>{W, layer.row()},
          [&](std::uint32_t i, std::uint32_t o, Real z) {
            to[i * layer.stride + o] = activated(layer.f, z + W[o * layer.row() + layer.depth]);
            if (o + 1 < layer.outputs) return;
            for (std::uint32_t k = o + 1; k < layer.stride; ++k) to[i * layer.stride + k] = 0;
          });
    }
  }

  /// The delta of the layer before l.
  template <class Block>
  GRADRACE_HD void propagate(const Block& block, std::uint32_t l, std::uint32_t n,
                             Real* factors) const {
    constexpr std::uint32_t together = 4;  // rows
    const InPlaceLayer layer = layers[l];
    const Activation f = layers[l - 1].f;
    const Fours<Real> W{weights_of(block) + layer.weights, layer.row()};
    const Fours<Real> dz{delta(l, factors, n), layer.stride};
    const Fours<Real> below{y(l - 1, factors, n), layer.depth};
    Real* const to = delta(l - 1, factors, n);
    const std::uint32_t wide = layer.depth / 4;
    each(block, (n + together - 1) / together * wide, [&](std::uint32_t item) {
      const std::uint32_t first = item / wide * together, k = item % wide * 4;
      Real sums[together][4] = {};
      for (std::uint32_t o = 0; o < layer.outputs; o += 4) {
        Four<Real> left[together];
        GRADRACE_UNROLL
        for (std::uint32_t i = 0; i < together; ++i)
          left[i] = dz(first + i < n ? first + i : n - 1, o);
        GRADRACE_UNROLL
        for (std::uint32_t p = 0; p < 4; ++p) {
          if (o + p >= layer.outputs) break;
          const Four<Real> right = W(o + p, k);
          GRADRACE_UNROLL
          for (std::uint32_t i = 0; i < together; ++i) {
            GRADRACE_UNROLL
            for (std::uint32_t q = 0; q < 4; ++q)
              sums[i][q] = fused(left[i].at[p], right.at[q], sums[i][q]);
          }
        }
      }
      GRADRACE_UNROLL
      for (std::uint32_t i = 0; i < together; ++i) {
        if (first + i >= n) break;
        const Four<Real> was = below(first + i, k);
        Four<Real> result;
        GRADRACE_UNROLL
        for (std::uint32_t q = 0; q < 4; ++q) result.at[q] = sums[i][q] * slope(f, was.at[q]);
        *reinterpret_cast<Four<Real>*>(to + std::uint64_t{first + i} * layer.depth + k) = result;
      }
    });
    block.sync();
  }

  /// A thread makes `together` outputs of four inputs, or their b.
  template <std::uint32_t together, class Block, class Use, class Moved>
  GRADRACE_HD void apply_layer(const Block& block, std::uint32_t l, std::uint32_t uses,
                               const Use& use, bool plain, const Moved& moved) const {
    const InPlaceLayer layer = layers[l];
    const std::uint32_t high = (layer.outputs + together - 1) / together;
    const std::uint32_t wide = layer.depth / 4 + 1;
    Real* const W = weights_of(block) + layer.weights;
    each(block, high * wide, [&](std::uint32_t item) {
      const std::uint32_t first = item / wide * together, k = item % wide * 4;
      Real step[together][4] = {};
      for (std::uint32_t u = 0; u < uses; ++u) add_tile(l, W, use(u), first, k, step);
      if (plain)
        subtract(layer, W, first, k, step);
      else
        move_tile(block, layer, W, first, k, step, moved);
    });
  }

  /// Padding stays zero.
  template <std::uint32_t together>
  GRADRACE_HD void subtract(const InPlaceLayer& layer, Real* W, std::uint32_t first,
                            std::uint32_t k, const Real (&step)[together][4]) const {
    GRADRACE_UNROLL
    for (std::uint32_t o = 0; o < together; ++o) {
      if (first + o >= layer.outputs) continue;
      auto& to = *reinterpret_cast<Four<Real>*>(W + (first + o) * layer.row() + k);
      Four<Real> w = to;
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < 4; ++q)
        if (k + q < layer.inputs || k == layer.depth) w.at[q] -= step[o][q];
      to = w;
    }
  }

  /// Rules are long: one number after the other, from memory, so that their code is there once.
  template <std::uint32_t together, class Block, class Moved>
  GRADRACE_HD void move_tile(const Block& block, const InPlaceLayer& layer, Real* W,
                             std::uint32_t first, std::uint32_t k, const Real (&step)[together][4],
                             const Moved& moved) const {
    static_assert(4 * together * threads <= scratch_numbers);
    Real* const own = block.template scratch<Real>() + block.thread();
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < 4 * together; ++i) own[i * threads] = step[i / 4][i % 4];
    for (std::uint32_t i = 0; i < 4 * together; ++i) {
      const std::uint32_t o = first + i / 4, input = k + i % 4;
      if (o >= layer.outputs) return;
      if (input >= layer.inputs && input != layer.depth) continue;
      const std::uint32_t number =
          layer.first +
          (input == layer.depth ? layer.outputs * layer.inputs + o : o * layer.inputs + input);
      Real& w = W[o * layer.row() + input];
      w = moved(number, own[i * threads], w);
    }
  }

  template <std::uint32_t together, class OneUse>
  GRADRACE_HD void add_tile(std::uint32_t l, const Real* W, const OneUse& use, std::uint32_t first,
                            std::uint32_t k, Real (&step)[together][4]) const {
    const InPlaceLayer layer = layers[l];
    const Fours<Real> dz{delta(l, use.factors, use.n), layer.stride};
    if (k == layer.depth) {
      const auto one = [](std::uint32_t, std::uint32_t) { return Four<Real>{{1, 0, 0, 0}}; };
      outer_tile(use.n, first, k, dz, one, step);
    } else if (l > 0) {
      outer_tile(use.n, first, k, dz, Fours<Real>{y(l - 1, use.factors, use.n), layer.depth}, step);
    } else {
      with_fours<Real>(of.train, use.rows,
                       [&](const auto& x) { outer_tile(use.n, first, k, dz, x, step); });
    }
    if (of.l2 > 0) add_decay(layer, W, use, first, k, step);
  }

  /// The regulariser's part, which only weights have.
  template <std::uint32_t together, class OneUse>
  GRADRACE_HD void add_decay(const InPlaceLayer& layer, const Real* W, const OneUse& use,
                             std::uint32_t first, std::uint32_t k,
                             Real (&step)[together][4]) const {
    const Real decay = use.weight * static_cast<Real>(2 * of.l2);
    GRADRACE_UNROLL
    for (std::uint32_t o = 0; o < together; ++o) {
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < 4; ++q) {
        if (first + o >= layer.outputs || k + q >= layer.inputs) continue;
        const Real w = use.at != nullptr ? use.at[layer.first + (first + o) * layer.inputs + k + q]
                                         : W[(first + o) * layer.row() + k + q];
        step[o][q] = fused(decay, w, step[o][q]);
      }
    }
  }

  template <class Block>
  GRADRACE_HD void evaluate_rows(const Block& block, const Split& split, const RowList& list,
                                 std::uint32_t part, Real* work, EvaluationPart* result) const {
    const std::uint32_t n = list.of_part(part);
    const std::uint32_t* const numbers = list.numbers + part * RowList::together;
    with_fours<Real>(split, numbers, [&](const auto& x) { forward(block, x, n, work); });
    const std::uint32_t last = of.depth - 1;
    of.add_up_rows(block, split, numbers, n, y(last, work, n), layers[last].stride,
                   work + std::uint64_t{per_row} * n, result);
  }
};

}  // namespace gradrace::kernels
