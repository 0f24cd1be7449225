#pragma once

#include "models/gpu/kernels/replay.h"
#include "models/gpu/kernels/wave_layers.h"

namespace gradrace::kernels {

/// A gradient whose factors are asked for.
struct FactorJob {
  std::uint32_t run, place, learner, draw;
};

/// A gradient that enters an update.
struct UseJob {
  std::uint32_t run, place;
  double weight;
};

/// An update of a run whose states have more than w; rate: the sum of its weights.
struct MoveJob {
  std::uint32_t run, rule;
  double rate;
};

/// A state that goes to or comes from a slot.
struct CopyJob {
  std::uint32_t run, slot;
};

/// What the runs of a wave have side by side in a device's memory: each a state at hand, and places
/// for gradients that wait for their updates.  A gradient's factors are those of InPlaceNetwork,
/// then the rows x [n, features] as numbers.
///
/// The first state, step and place are nobody's.  They are zeros, and stay so.
template <class Real>
struct Wave {
  InPlaceNetwork<Real> network;  // its layers, which look at weights as w has them
  Cohort<Real> cohort;
  Real* states;
  Real* steps;  // minus the sum of weight g, where states have more than w; zeros between updates
  std::uint64_t state_stride, step_stride;
  std::uint32_t* rows;
  Real* factors;
  std::uint32_t places, minibatch;  // at the most
  Real** pointers;                  // [3 depth, jobs]: to what products multiply
  std::uint32_t jobs;

  // Of layer l: w or the step, what it looks at, and the derivatives (of the last one: its scores).
  GRADRACE_HD Real** to_weights(std::uint32_t l) const { return pointers + place_of(l); }
  GRADRACE_HD Real** to_inputs(std::uint32_t l) const {
    return pointers + place_of(network.of.depth + l);
  }
  GRADRACE_HD Real** to_deltas(std::uint32_t l) const {
    return pointers + place_of(2 * network.of.depth + l);
  }

  GRADRACE_HD static std::uint64_t per_row(const InPlaceNetwork<Real>& network) {
    return std::uint64_t{network.per_row} + network.of.train.stride;
  }
  GRADRACE_HD Real* x(Real* of_place, std::uint32_t n) const {
    return of_place + std::uint64_t{network.per_row} * n;
  }
  GRADRACE_HD StateAt<Real> state(std::uint32_t run) const {
    return cohort.values.parts(cohort.runs[run], states + (run + 1) * state_stride);
  }
  GRADRACE_HD Real* step(std::uint32_t run) const { return steps + (run + 1) * step_stride; }
  GRADRACE_HD std::uint32_t* rows_of(std::uint32_t run, std::uint32_t place) const {
    return rows + (std::uint64_t{run} * places + place) * minibatch;
  }
  GRADRACE_HD Real* factors_of(std::uint32_t run, std::uint32_t place) const {
    return factors + (std::uint64_t{run} * places + place + 1) * minibatch * per_row(network);
  }

  /// The products of job i are of that w or step, and of those factors of n rows.
  template <class Block>
  GRADRACE_HD void point(const Block& block, std::uint32_t i, Real* w, Real* of_place,
                         std::uint32_t n) const {
    each(block, network.of.depth, [&](std::uint32_t l) {
      to_weights(l)[i] = w + network.layers[l].first;
      to_inputs(l)[i] = l == 0 ? x(of_place, n) : network.y(l - 1, of_place, n);
      to_deltas(l)[i] = network.delta(l, of_place, n);
    });
  }
  template <class Block>
  GRADRACE_HD void point_at_nothing(const Block& block, std::uint32_t i, std::uint32_t n) const {
    point(block, i, states, factors, n);
  }

 private:
  GRADRACE_HD std::uint64_t place_of(std::uint32_t list) const {
    return std::uint64_t{list} * jobs;
  }
};

/// What the kernels of a wave have in common: none needs scratch memory.
template <class Number>
struct WaveKernel {
  using Real = Number;

  Wave<Real> wave;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
};

/// States at hand from slots, or the other way; a block for each chunk of each.
template <class Real>
struct WaveCopyKernel : WaveKernel<Real> {
  using WaveKernel<Real>::wave;
  const CopyJob* jobs;
  std::uint32_t chunks;
  bool to_slot;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const CopyJob job = jobs[number / chunks];
    const RunAt run = wave.cohort.runs[job.run];
    Real* const slot = wave.cohort.values.at(run, job.run, job.slot).w;
    Real* const at_hand = wave.state(job.run).w;
    each_of_chunk(block, number % chunks, wave.cohort.values.numbers(run), [&](std::uint64_t j) {
      if (to_slot)
        slot[j] = at_hand[j];
      else
        at_hand[j] = slot[j];
    });
  }
};

/// Draws the rows of minibatches of n, and writes them down; a block for each, and for each of the
/// products that fill up the last call.
template <class Real>
struct WaveDrawKernel : WaveKernel<Real> {
  using WaveKernel<Real>::wave;
  const FactorJob* jobs;  // [count]
  std::uint32_t count, n;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    if (number >= count) return wave.point_at_nothing(block, number, n);
    const FactorJob job = jobs[number];
    const RunAt run = wave.cohort.runs[job.run];
    const auto& network = wave.network.of;
    std::uint32_t* const rows = wave.rows_of(job.run, job.place);
    network.draw(block, MinibatchName{run.seed, run.replica, job.learner, job.draw, n}, rows);
    Real* const factors = wave.factors_of(job.run, job.place);
    write_down_fours(block, network.train, rows, n, wave.x(factors, n));
    wave.point(block, number, wave.state(job.run).w, factors, n);
  }
};

/// y = f(y + b) of layer l, and of the last one the derivatives; a block for each minibatch of n.
template <class Real>
struct WaveActivationKernel : WaveKernel<Real> {
  using WaveKernel<Real>::wave;
  const FactorJob* jobs;
  std::uint32_t n, l;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const auto& network = wave.network.of;
    const FactorJob job = jobs[number];
    const InPlaceLayer layer = wave.network.layers[l];
    Real* const y = wave.network.y(l, wave.factors_of(job.run, job.place), n);
    activate(block, layer, wave.state(job.run).w, n, y);
    if (l + 1 < network.depth) return;
    const Labels labels = network.labels_of(network.train, wave.rows_of(job.run, job.place));
    each(block, n, [&](std::uint32_t i) { differentiate(labels, i, n, y + i * layer.stride); });
  }
};

/// delta = delta f'(z) of layer l, which is not the last; a block for each minibatch of n.
template <class Real>
struct WaveSlopeKernel : WaveKernel<Real> {
  using WaveKernel<Real>::wave;
  const FactorJob* jobs;
  std::uint32_t n, l;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const FactorJob job = jobs[number];
    Real* const factors = wave.factors_of(job.run, job.place);
    times_slope(block, wave.network.layers[l], n, wave.network.y(l, factors, n),
                wave.network.delta(l, factors, n));
  }
};

/// Multiplies derivatives of n rows by their weights, and subtracts the part of b; a block for each
/// use, and for each of the products that fill up the last call.
template <class Real>
struct WaveWeighKernel : WaveKernel<Real> {
  using WaveKernel<Real>::wave;
  const UseJob* jobs;  // [count]
  std::uint32_t count, n;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    if (number >= count) return wave.point_at_nothing(block, number, n);
    const UseJob job = jobs[number];
    Real* const factors = wave.factors_of(job.run, job.place);
    Real* const to =
        wave.cohort.runs[job.run].only_w() ? wave.state(job.run).w : wave.step(job.run);
    wave.point(block, number, to, factors, n);
    for (std::uint32_t l = 0; l < wave.network.of.depth; ++l) {
      const InPlaceLayer layer = wave.network.layers[l];
      weigh(block, layer, n, static_cast<Real>(job.weight), wave.network.delta(l, factors, n),
            to + layer.first + layer.outputs * layer.inputs);
    }
  }
};

/// Moves states by their steps, which become zeros; a block for each chunk of each.
template <class Real>
struct WaveMoveKernel : WaveKernel<Real> {
  using WaveKernel<Real>::wave;
  const MoveJob* jobs;
  std::uint32_t chunks;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const MoveJob job = jobs[number / chunks];
    const RunAt run = wave.cohort.runs[job.run];
    const Move<Real> move(wave.cohort.rules[run.first_rule + job.rule], job.rate,
                          wave.cohort.least);
    const StateAt<Real> state = wave.state(job.run);
    Real* const step = wave.step(job.run);
    each_of_chunk(block, number % chunks, wave.cohort.values.parameters, [&](std::uint64_t at) {
      const auto j = static_cast<std::uint32_t>(at);
      state.w[j] = move(j, -step[j], state.w[j], state, state);
      step[j] = 0;
    });
  }
};

}  // namespace gradrace::kernels
