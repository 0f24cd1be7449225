#pragma once

#include "models/gpu/kernels/in_place_network.h"
#include "models/gpu/kernels/instruction.h"
#include "models/gpu/kernels/replay.h"

namespace gradrace::kernels {

/// Interprets a stretch of each run, a block for each run, with its weights in shared memory.
///
/// Cost of an update with one gradient, of d parameters and m rows of f features of a network
/// without hidden layers: 2 m d multiplications with additions, half of them for the factors; rows
/// are read twice, 2 m f bytes or floats; the factors are written and read once.  W does not leave
/// the block.  The parts of a state beside w are in the work memory, read and written once.
template <class Number>
struct InPlaceReplayKernel {
  using Real = Number;
  using Network = InPlaceNetwork<Real>;

  Network network;
  Cohort<Real> cohort;
  const Stretch* stretches;
  const FactoredUse* uses;
  const Instruction* instructions;
  // Of each worker: a state's parts beside w.
  Real* work;
  std::uint64_t work_stride;
  // Of each place of a run: a gradient's rows and factors.
  std::uint32_t* rows;
  Real* factors;
  std::uint32_t places, minibatch;  // at most

  static constexpr std::uint32_t threads = Network::threads, at_once = Network::at_once;
  std::size_t shared_numbers() const { return network.shared_numbers(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number,
                              std::uint32_t worker) const {
    const Stretch stretch = stretches[number];
    const RunAt run = cohort.runs[stretch.run];
    const StateAt<Real> at_hand = state_at_hand(run, worker);
    for (std::uint64_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
      const Instruction what = instructions[i];
      const StateAt<Real> slot = cohort.values.at(run, stretch.run, what.slot);
      const FactoredUse* const of_update = uses + stretch.first_use + what.first;
      switch (what.kind) {
        case Instruction::Kind::load:
          network.load(block, slot.w);
          copy(block, slot, at_hand);
          break;
        case Instruction::Kind::factor:
          factor(block, run, stretch.run, *of_update);
          break;
        case Instruction::Kind::update:
          update(block, run, stretch.run, what, of_update, at_hand);
          break;
        case Instruction::Kind::store:
          network.store(block, slot.w);
          copy(block, at_hand, slot);
          break;
      }
    }
  }

 private:
  struct OneUse {
    const std::uint32_t* rows;
    Real* factors;
    const Real* at;  // null: W
    std::uint32_t n;
    Real weight;
  };

  /// w is in shared memory.
  GRADRACE_HD StateAt<Real> state_at_hand(const RunAt& run, std::uint32_t worker) const {
    const std::uint32_t d = cohort.values.parameters;
    StateAt<Real> state{nullptr, nullptr, nullptr, nullptr};
    Real* next = work + worker * work_stride;
    if (run.velocity) state.velocity = next, next += d;
    if (run.mean_square) state.mean_square = next, next += d;
    if (run.average) state.average = next;
    return state;
  }

  template <class Block>
  GRADRACE_HD void copy(const Block& block, const StateAt<Real>& from,
                        const StateAt<Real>& to) const {
    each(block, cohort.values.parameters, [&](std::uint32_t j) {
      if (to.velocity != nullptr) to.velocity[j] = from.velocity[j];
      if (to.mean_square != nullptr) to.mean_square[j] = from.mean_square[j];
      if (to.average != nullptr) to.average[j] = from.average[j];
    });
    block.sync();
  }

  GRADRACE_HD std::uint32_t* rows_of(std::uint32_t number, std::uint32_t place) const {
    return rows + (std::uint64_t{number} * places + place) * minibatch;
  }
  GRADRACE_HD Real* factors_of(std::uint32_t number, std::uint32_t place) const {
    return factors + (std::uint64_t{number} * places + place) * minibatch * network.per_row;
  }

  template <class Block>
  GRADRACE_HD void factor(const Block& block, const RunAt& run, std::uint32_t number,
                          const FactoredUse& use) const {
    const MinibatchName name{run.seed, run.replica, use.learner, use.draw,
                             cohort.recipes[run.first_recipe + use.recipe].minibatch};
    network.factor(block, name, static_cast<Real>(use.weight), rows_of(number, use.place),
                   factors_of(number, use.place));
  }

  template <class Block>
  GRADRACE_HD void update(const Block& block, const RunAt& run, std::uint32_t number,
                          const Instruction& what, const FactoredUse* of_update,
                          const StateAt<Real>& at_hand) const {
    double rate = 0;
    for (std::uint32_t u = 0; u < what.count; ++u) rate += of_update[u].weight;
    const Move<Real> move(cohort.rules[run.first_rule + what.rule], rate, cohort.least);
    network.apply(
        block, what.count,
        [&](std::uint32_t u) {
          const FactoredUse& use = of_update[u];
          const bool kept = use.at != FactoredUse::moved;
          return OneUse{rows_of(number, use.place), factors_of(number, use.place),
                        kept ? cohort.values.at(run, number, use.at).w : nullptr,
                        cohort.recipes[run.first_recipe + use.recipe].minibatch,
                        static_cast<Real>(use.weight)};
        },
        run.only_w(),
        [&](std::uint32_t j, Real step, Real w) { return move(j, step, w, at_hand, at_hand); });
  }
};

}  // namespace gradrace::kernels
