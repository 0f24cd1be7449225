#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/batched_product.h"
#include "models/kernels/wave_evaluation.h"
#include "models/mirror.h"

namespace gradrace {

/// Evaluations of a network of dense layers whose weights do not fit into a block's shared memory:
/// some thousand rows at a time, which are written down once for all values.
///
/// What a value must do, of d parameters and n rows of f features: n d multiplications with
/// additions.  It must read n f numbers of Real, and each layer's units twice, written twice.
template <class Real, class Launcher>
class WaveEvaluation {
 public:
  using Network = kernels::InPlaceNetwork<Real>;

  static std::uint64_t bytes(const Network& network) {
    return rows_of(network) * (network.of.train.stride + network.per_row + 2) * sizeof(Real);
  }

  /// layers: the network's, on the host.
  void start(std::span<const kernels::InPlaceLayer> layers) { layers_ = layers; }

  /// The parts [count, network.parts()] of those values.
  void launch(Launcher& launcher, const Network& network, const kernels::Cohort<Real>& cohort,
              const kernels::Evaluated* evaluated, std::uint32_t count,
              kernels::EvaluationPart* parts) {
    const std::uint32_t rows = rows_of(network);
    reserve(launcher, x_, std::size_t{rows} * network.of.train.stride);
    reserve(launcher, units_, std::size_t{rows} * network.per_row);
    reserve(launcher, losses_, std::size_t{2} * rows);
    reserve(launcher, pointers_, layers_.size() * (count + 1) + 1);
    const Evaluation evaluation{
        network,       cohort,         evaluated,        count, rows, x_.data(),
        units_.data(), losses_.data(), pointers_.data(), parts};
    launcher.launch(kernels::WaveParametersKernel<Real>{{evaluation}}, count, count);
    evaluate(launcher, evaluation, network.of.train, network.of.train_rows, 0);
    evaluate(launcher, evaluation, network.of.test, network.of.test_rows,
             network.of.train_rows.parts());
  }

 private:
  using Evaluation = kernels::WaveEvaluation<Real>;
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  static std::uint32_t rows_of(const Network& network) {
    const std::uint32_t longest = std::max(network.of.train_rows.count, network.of.test_rows.count);
    return std::max(1u, std::min(Launcher::rows_together, longest));
  }

  void evaluate(Launcher& launcher, const Evaluation& evaluation, const kernels::Split& split,
                const kernels::RowList& list, std::uint32_t first_part) const {
    static_assert(Launcher::rows_together % kernels::RowList::together == 0);
    for (std::uint32_t first = 0; first < list.count; first += evaluation.rows) {
      const kernels::RowStretch stretch{split, list, first,
                                        std::min(evaluation.rows, list.count - first),
                                        first_part + first / kernels::RowList::together};
      launcher.launch(kernels::WaveRowsKernel<Real>{{evaluation}, stretch}, stretch.parts(),
                      stretch.parts());
      for (std::uint32_t value = 0; value < evaluation.values; ++value)
        evaluate(launcher, evaluation, stretch, value);
    }
  }

  /// One value at a time: the rows are enough for a whole device, and the bits of one do not depend
  /// on how many there are.
  void evaluate(Launcher& launcher, const Evaluation& evaluation,
                const kernels::RowStretch& stretch, std::uint32_t value) const {
    for (std::uint32_t l = 0; l < layers_.size(); ++l) {
      const kernels::InPlaceLayer& layer = layers_[l];
      launcher.multiply(
          BatchedProduct<Real>{.rows = stretch.count,
                               .columns = layer.outputs,
                               .depth = layer.inputs,
                               .alpha = 1,
                               .a = {evaluation.to_inputs(l), layer.depth},
                               .b = {evaluation.to_weights(l, value), layer.inputs, true},
                               .beta = 0,
                               .c = evaluation.to_inputs(l + 1),
                               .c_stride = layer.stride,
                               .count = 1});
      launcher.launch(kernels::WaveUnitsKernel<Real>{{evaluation}, stretch, value, l},
                      stretch.parts(), stretch.parts());
    }
  }

  std::span<const kernels::InPlaceLayer> layers_;
  Memory<Real> x_, units_, losses_;
  Memory<Real*> pointers_;
};

}  // namespace gradrace
