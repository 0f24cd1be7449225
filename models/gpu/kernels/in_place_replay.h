#pragma once

#include "models/gpu/kernels/in_place_network.h"
#include "models/gpu/kernels/replay.h"

namespace gradrace::kernels {

/// A step of a Program of the early order, whose update moves one state of the run in place: where
/// the state is not the value in base, that is loaded first.
struct InPlaceStep {
  bool computes;       // the factors of use `first` go to its place; else base is moved to out
  bool stored;         // out goes to its slot as well
  std::uint16_t rule;  // index into Tape::rules
  std::uint32_t out, base;
  std::uint32_t first, count;  // of the run's uses
};

/// A use whose gradient's factors are in that place: of each layer what it looks at and the
/// derivative by what it gives.
struct FactoredUse {
  std::uint32_t place;
  std::uint32_t at;  // the slot of the value that it was computed at; moved: not looked for there
  std::uint32_t learner, draw, recipe;
  double weight;

  static constexpr std::uint32_t moved = ~std::uint32_t{0};
};

/// Does a stretch of each run, a block for each run, with its weights in shared memory.
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
  const InPlaceStep* steps;
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
    const std::uint64_t beside = run.layout.beside;
    Real* const rest = work + worker * work_stride;
    const StateAt<Real> state = run.layout.at<Real>(nullptr, rest);  // w is in shared memory
    std::uint32_t at_hand = FactoredUse::moved;  // the slot whose value the state is
    for (std::uint64_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
      const InPlaceStep step = steps[i];
      const FactoredUse* const of_step = uses + stretch.first_use + step.first;
      if (at_hand != step.base) {
        const StateAt<Real> base = cohort.values.at(run, stretch.run, step.base);
        network.load(block, base.w);
        copy(block, run, base.w + beside, rest);
        at_hand = step.base;
      }
      if (step.computes) {
        factor(block, run, stretch.run, *of_step);
        continue;
      }
      update(block, run, stretch.run, step, of_step, state);
      at_hand = step.out;
      if (!step.stored) continue;
      const StateAt<Real> out = cohort.values.at(run, stretch.run, step.out);
      network.store(block, out.w);
      copy(block, run, rest, out.w + beside);
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

  /// What a state has beside w.
  template <class Block>
  GRADRACE_HD static void copy(const Block& block, const RunAt& run, const Real* from, Real* to) {
    const auto count = static_cast<std::uint32_t>(run.layout.numbers - run.layout.beside);
    each(block, count, [&](std::uint32_t j) { to[j] = from[j]; });
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
                          const InPlaceStep& step, const FactoredUse* of_update,
                          const StateAt<Real>& state) const {
    double rate = 0;
    for (std::uint32_t u = 0; u < step.count; ++u) rate += of_update[u].weight;
    const KernelRule& rule = cohort.rules[run.first_rule + step.rule];
    const Move<Real> move(rule.optimiser, rule.ema, run.layout, 0, {state, state, rate});
    const bool plain = is_plain(rule.optimiser, run.layout);
    if (!plain) block.sync();  // all have looked at the state, which changes now
    network.apply(
        block, step.count,
        [&](std::uint32_t u) {
          const FactoredUse& use = of_update[u];
          const bool kept = use.at != FactoredUse::moved;
          return OneUse{rows_of(number, use.place), factors_of(number, use.place),
                        kept ? cohort.values.at(run, number, use.at).w : nullptr,
                        cohort.recipes[run.first_recipe + use.recipe].minibatch,
                        static_cast<Real>(use.weight)};
        },
        plain, [&](std::uint32_t j, Real change, Real w) { return move(j, w, change); });
  }
};

}  // namespace gradrace::kernels
