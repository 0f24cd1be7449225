#pragma once

#include <cmath>
#include <cstddef>

#include "models/gpu/kernels/network.h"
#include "models/gpu/kernels/normal.h"
#include "models/optimiser/kinds.h"
#include "sim/block_code.h"
#include "sim/tape.h"
#include "sim/tensor.h"

namespace gradrace::kernels {

/// The tape's rule.
struct KernelRule {
  static constexpr std::uint32_t no_back = ~std::uint32_t{0};

  OptimiserKind optimiser;
  double ema, distance;
  std::uint32_t back = no_back;  // the cohort's message that a server makes of a step
};

/// The tape's message.
struct KernelMessage {
  BlockCode code;
  bool shares_words, takes_back, votes, joint;
  bool remembers, follows;  // and it is an estimate
  double decay, lambda, nu;
};

/// Lowering's use and step.
struct KernelUse {
  std::uint32_t at, learner, draw, recipe;
  double weight;
};

struct KernelUpdate {
  std::uint32_t out, base, rule;
  std::uint32_t first, count;  // of the run's uses
};

/// One run on the device.
struct RunAt {
  std::uint64_t seed;
  std::uint32_t replica;
  std::uint32_t first_recipe, first_rule, first_message;  // in the cohort's
  StateLayout layout;
  std::uint64_t kept_back = 0;    // where a state has what is kept of messages back; 0: nowhere
  std::uint64_t memory_back = 0;  // where of that what they left out; 0: nowhere
  std::uint64_t carried = 0;      // where a memory has what messages of models carry
};

/// Every value of a cohort: slots of `stride` numbers in pages of so many slots of every run.
template <class Real>
struct Values {
  static constexpr std::uint32_t page_slots = 4;

  Real* const* pages;
  std::uint64_t stride;
  std::uint32_t parameters;  // d
  std::uint32_t learnt;      // without the statistics

  GRADRACE_HD StateAt<Real> at(const RunAt& run, std::uint32_t number, std::uint32_t slot) const {
    return run.layout.at(pages[slot / page_slots] +
                         (std::uint64_t{number} * page_slots + slot % page_slots) * stride);
  }
};

/// The runs of a cohort and where their values are.
template <class Real>
struct Cohort {
  Values<Real> values;
  const RunAt* runs;
  const Recipe* recipes;
  const KernelRule* rules;
  const KernelMessage* messages;
  const Tensor* tensors;  // of what is learnt
  const Ziggurat* ziggurat;
};

/// The updates or instructions of one run in a launch, in order.
struct Stretch {
  std::uint32_t run;
  std::uint64_t first_use;  // index in the wave's list of the run's first
  std::uint64_t first, count;
};

/// Factor that scales a gradient down to the norm `clip`.
template <class Block, class Real>
GRADRACE_HD double clip_factor(const Block& block, double clip, std::uint32_t learnt,
                               const Real* g) {
  const double norm = std::sqrt(sum(block, learnt, [=](std::uint32_t j) {
    return static_cast<double>(g[j]) * static_cast<double>(g[j]);
  }));
  return norm > clip ? clip / norm : 1;
}

/// Factor of the weight of a gradient computed at `at` that moves base: Rule::distance.
template <class Block, class Real>
GRADRACE_HD double distance_factor(const Block& block, double distance, std::uint32_t learnt,
                                   const Real* base, const Real* at) {
  const double squared = sum(block, learnt, [=](std::uint32_t j) {
    const double difference = static_cast<double>(base[j] - at[j]);
    return difference * difference;
  });
  const double factor = distance / squared;
  return factor < 1 ? factor : 1;
}

/// A gradient that enters an update of a run.
template <class Real>
struct UseAt {
  Recipe recipe;
  double weight;
  const Real* w;   // at which it was computed
  const Real* g;   // [parameters]
  double* factor;  // gets the distance factor; null: not fetched
};

/// Factors of a gradient's numbers: of learnt parameters, and of the statistics that it carries,
/// which clipping leaves alone.
struct UseWeight {
  double learnt, carried;

  template <class Real>
  GRADRACE_HD Real of(std::uint32_t j, std::uint32_t first_carried) const {
    return static_cast<Real>(j < first_carried ? learnt : carried);
  }
};

template <class Block, class Real>
GRADRACE_HD UseWeight weigh_use(const Block& block, const Values<Real>& values,
                                const KernelRule& rule, const Real* base, const UseAt<Real>& use) {
  const std::uint32_t learnt = values.learnt;
  const double factor =
      rule.distance > 0 ? distance_factor(block, rule.distance, learnt, base, use.w) : 1;
  if (use.factor != nullptr && block.thread() == 0) *use.factor = factor;
  const double weight = factor * use.weight;
  const double clip = use.recipe.clip;
  return {clip > 0 ? weight * clip_factor(block, clip, learnt, use.g) : weight, weight};
}

/// Replays a stretch of each run, a block for each run from its first update to its last; a
/// gradient is computed when it is used, at a value that is still in its slot.
///
/// Memory traffic of an update with one gradient, in numbers of Real, d parameters: w is read twice
/// (for the gradient; the base) and written once, 3 d; g and the step are written and read once
/// each, 4 d; g is read once more if it is clipped.
template <class Model>
struct ReplayKernel {
  using Real = typename Model::Number;

  Model model;
  Cohort<Real> cohort;
  const Stretch* stretches;
  const KernelUse* uses;
  const KernelUpdate* updates;
  double* factors;  // [uses]: distance factors; null: not fetched
  Real* work;       // of each worker: g, step
  std::uint64_t work_stride;

  static constexpr std::uint32_t threads = Model::threads, at_once = Model::at_once;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number,
                              std::uint32_t worker) const {
    const Stretch stretch = stretches[number];
    const RunAt run = cohort.runs[stretch.run];
    for (std::uint64_t i = 0; i < stretch.count; ++i)
      update(block, run, stretch.run, worker, updates[stretch.first + i], stretch.first_use);
  }

 private:
  template <class Block>
  GRADRACE_HD void update(const Block& block, const RunAt& run, std::uint32_t number,
                          std::uint32_t worker, const KernelUpdate& update,
                          std::uint64_t first_use) const {
    const Values<Real>& values = cohort.values;
    Real* const g = work + worker * work_stride;
    Real* const step = g + values.parameters;
    const KernelRule rule = cohort.rules[run.first_rule + update.rule];
    const StateAt<Real> base = values.at(run, number, update.base);
    each(block, values.parameters, [=](std::uint32_t j) { step[j] = 0; });
    double rate = 0;
    for (std::uint64_t i = first_use + update.first; i < first_use + update.first + update.count;
         ++i) {
      const KernelUse use = uses[i];
      const Recipe recipe = cohort.recipes[run.first_recipe + use.recipe];
      const Real* const at = values.at(run, number, use.at).w;
      model.gradient(block, at,
                     MinibatchName{run.seed, run.replica, use.learner, use.draw, recipe.minibatch},
                     g);
      const UseWeight weight =
          weigh_use(block, values, rule, base.w,
                    {recipe, use.weight, at, g, factors != nullptr ? factors + i : nullptr});
      each(block, values.parameters,
           [=](std::uint32_t j) { step[j] += weight.template of<Real>(j, values.learnt) * g[j]; });
      block.sync();  // g is free again
      rate += weight.carried;
    }
    const StateAt<Real> out = values.at(run, number, update.out);
    const Move<Real> move(rule.optimiser, rule.ema, run.layout, 0, {base, out, rate});
    each(block, values.parameters,
         [&](std::uint32_t j) { out.w[j] = move(j, base.w[j], step[j]); });
    block.sync();
  }
};

/// A value to be evaluated.
struct Evaluated {
  std::uint32_t run, slot;
};

/// Evaluates values, a block for each part of each.  Neighbouring blocks read the same rows.
template <class Model>
struct EvaluationKernel {
  using Real = typename Model::Number;

  Model model;
  Cohort<Real> cohort;
  const Evaluated* evaluated;  // [count]
  std::uint32_t count;
  EvaluationPart* parts;  // [count, model.parts()]
  Real* work;             // of each worker
  std::uint64_t work_stride;

  static constexpr std::uint32_t threads = Model::threads, at_once = Model::at_once;
  std::size_t shared_numbers() const { return model.shared_numbers(); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number,
                              std::uint32_t worker) const {
    const std::uint32_t value = number % count, part = number / count;
    const Evaluated what = evaluated[value];
    const StateAt<Real> state = cohort.values.at(cohort.runs[what.run], what.run, what.slot);
    model.evaluate(block, state.evaluated(), part, work + worker * work_stride,
                   parts + std::uint64_t{value} * model.parts() + part);
  }
};

/// Adds up the parts of values, a block for each.
template <class Model>
struct EvaluationSumKernel {
  using Real = typename Model::Number;

  Model model;
  const EvaluationPart* parts;  // [values, model.parts()]
  EvaluationSums* sums;         // [values]

  static constexpr std::uint32_t threads = Model::threads, at_once = Model::at_once;
  std::size_t shared_numbers() const { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t value, std::uint32_t) const {
    const EvaluationSums result = model.add_up(block, parts + std::uint64_t{value} * model.parts());
    if (block.thread() == 0) sums[value] = result;
  }
};

}  // namespace gradrace::kernels
