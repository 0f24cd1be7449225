#pragma once

#include "models/kernels/replay.h"
#include "models/kernels/wave_layers.h"

namespace gradrace::kernels {

/// Some of an evaluation's rows, which are written down together.
struct RowStretch {
  Split split;
  RowList list;
  std::uint32_t first, count;  // of the list; first: a multiple of RowList::together
  std::uint32_t first_part;    // of the evaluation: that of row `first`

  GRADRACE_HD std::uint32_t parts() const { return rows().parts(); }
  GRADRACE_HD RowList rows() const { return {list.numbers + first, count}; }
};

/// Values that are evaluated one after the other on the same rows.
template <class Real>
struct WaveEvaluation {
  InPlaceNetwork<Real> network;  // its layers, which look at weights as w has them
  Cohort<Real> cohort;
  const Evaluated* evaluated;  // [values]
  std::uint32_t values;
  std::uint32_t rows;     // at the most
  Real* x;                // [rows, features]
  Real* units;            // of all layers: what one value makes of them
  Real* losses;           // [2 rows]
  Real** pointers;        // [depth + 1]: to x and units; [depth, values]: to weights
  EvaluationPart* parts;  // [values, network.parts()]

  /// What layer l looks at; the scores are what the one after the last would.
  GRADRACE_HD Real** to_inputs(std::uint32_t l) const { return pointers + l; }
  GRADRACE_HD Real** to_weights(std::uint32_t l, std::uint32_t value) const {
    return pointers + network.of.depth + 1 + std::uint64_t{l} * values + value;
  }
  GRADRACE_HD const Real* w(std::uint32_t value) const {
    const Evaluated what = evaluated[value];
    return cohort.values.at(cohort.runs[what.run], what.run, what.slot).evaluated();
  }
  GRADRACE_HD EvaluationPart* part(std::uint32_t value, std::uint32_t number) const {
    return parts + std::uint64_t{value} * network.parts() + number;
  }
};

/// What the kernels of an evaluation have in common.
template <class Number>
struct WaveEvaluationKernel {
  using Real = Number;

  WaveEvaluation<Real> evaluation;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }
};

/// What products look up, and the part of the parameters; a block for each value.
template <class Real>
struct WaveParametersKernel : WaveEvaluationKernel<Real> {
  using WaveEvaluationKernel<Real>::evaluation;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t value, std::uint32_t) const {
    const InPlaceNetwork<Real>& network = evaluation.network;
    const Real* const w = evaluation.w(value);
    each(block, network.of.depth, [&](std::uint32_t l) {
      // Products only read them.
      *evaluation.to_weights(l, value) = const_cast<Real*>(w) + network.layers[l].first;
      if (value > 0) return;
      *evaluation.to_inputs(l + 1) = network.y(l, evaluation.units, evaluation.rows);
      if (l == 0) *evaluation.to_inputs(0) = evaluation.x;
    });
    network.of.evaluate_parameters(block, w, evaluation.part(value, network.parts() - 1));
  }
};

/// x, a block for each part of the rows.
template <class Real>
struct WaveRowsKernel : WaveEvaluationKernel<Real> {
  using WaveEvaluationKernel<Real>::evaluation;
  RowStretch stretch;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t part, std::uint32_t) const {
    const RowList rows = stretch.rows();
    const std::uint32_t first = part * RowList::together;
    write_down_fours(block, stretch.split, rows.numbers + first, rows.of_part(part),
                     evaluation.x + std::uint64_t{first} * stretch.split.stride);
  }
};

/// y = f(y + b) of layer l, and of the last one loss and errors; a block for each part of the rows.
template <class Real>
struct WaveUnitsKernel : WaveEvaluationKernel<Real> {
  using WaveEvaluationKernel<Real>::evaluation;
  RowStretch stretch;
  std::uint32_t value, l;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t part, std::uint32_t) const {
    const InPlaceNetwork<Real>& network = evaluation.network;
    const RowList rows = stretch.rows();
    const std::uint32_t first = part * RowList::together, n = rows.of_part(part);
    const InPlaceLayer layer = network.layers[l];
    Real* const y =
        network.y(l, evaluation.units, evaluation.rows) + std::uint64_t{first} * layer.stride;
    activate(block, layer, evaluation.w(value), n, y);
    if (l + 1 < network.of.depth) return;
    network.of.add_up_rows(block, stretch.split, rows.numbers + first, n, y, layer.stride,
                           evaluation.losses + 2 * first,
                           evaluation.part(value, stretch.first_part + part));
  }
};

}  // namespace gradrace::kernels
