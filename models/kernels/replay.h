#pragma once

#include <cmath>
#include <cstddef>

#include "models/kernels/network.h"

namespace gradrace::kernels {

/// Tape's rule, without what only a host understands.
struct KernelRule {
  double momentum, ema, distance;
  double decay, epsilon;  // of rmsprop; decay < 0: none
  bool nesterov, of_gradients, from_rest;
};

/// Lowering's use and step, and tape's recipe.
struct KernelUse {
  std::uint32_t at, learner, draw, recipe;
  double weight;
};

struct KernelUpdate {
  std::uint32_t out, base, rule;
  std::uint32_t first, count;  // of the run's uses
};

struct KernelRecipe {
  std::uint32_t minibatch;
  double clip;  // 0: none
};

/// Where a value is.  What no rule of the run needs is null.
template <class Real>
struct StateAt {
  Real *w, *velocity, *mean_square, *average;

  GRADRACE_HD const Real* evaluated() const { return average != nullptr ? average : w; }
};

/// One run on the device.
struct RunAt {
  std::uint64_t seed;
  std::uint32_t replica;
  std::uint32_t first_recipe, first_rule;  // in the cohort's
  bool velocity, mean_square, average;     // which parts its states have
};

/// Every value of a cohort: slots of `stride` numbers in pages of so many slots of every run.
template <class Real>
struct Values {
  static constexpr std::uint32_t page_slots = 4;

  Real* const* pages;
  std::uint64_t stride;
  std::uint32_t parameters;  // d
  std::uint32_t learnt;      // without the statistics, of which velocity and mean_square have none

  GRADRACE_HD StateAt<Real> at(const RunAt& run, std::uint32_t number, std::uint32_t slot) const {
    Real* next = pages[slot / page_slots] +
                 (std::uint64_t{number} * page_slots + slot % page_slots) * stride;
    StateAt<Real> state{next, nullptr, nullptr, nullptr};
    next += parameters;
    if (run.velocity) state.velocity = next, next += learnt;
    if (run.mean_square) state.mean_square = next, next += learnt;
    if (run.average) state.average = next;
    return state;
  }
};

/// The updates of one run that a launch makes, in order.
struct Stretch {
  std::uint64_t first_use;  // of the run, in the wave's
  std::uint64_t first, count;
};

/// What is learnt of out: base moved by the rule, as apply_rule() does it; `rate` is the sum of
/// weights, step the sum of weight g.  least: the smallest normal number of Real.
template <class Real, class Block>
GRADRACE_HD void move(const Block& block, const KernelRule& rule, const StateAt<Real>& base,
                      double rate, double least, const Real* step, const StateAt<Real>& out,
                      std::uint32_t learnt) {
  const bool vanishing = !(rate >= least), still = rule.of_gradients && vanishing;
  const bool rescaled = rule.decay >= 0 && !vanishing;
  const Real decay = static_cast<Real>(rule.decay), epsilon = static_cast<Real>(rule.epsilon);
  const Real per_rate = rescaled ? static_cast<Real>(1 / rate) : Real{0};
  const Real momentum = static_cast<Real>(rule.momentum);
  const Real kept = still ? Real{1} : rule.from_rest ? Real{0} : momentum;
  const Real of_step = static_cast<Real>(still ? 0 : rule.of_gradients ? 1 / rate : 1);
  const Real scale = static_cast<Real>(still ? 0 : rule.of_gradients ? rate : 1);
  const Real share = static_cast<Real>(1 - rule.ema);
  each(block, learnt, [&](std::uint32_t j) {
    Real change = step[j];
    if (out.mean_square != nullptr) {
      Real s = base.mean_square[j];
      if (rescaled) {
        const Real g = change * per_rate;
        s = decay * s + (1 - decay) * g * g;
        change /= std::sqrt(s + epsilon);
      }
      out.mean_square[j] = s;
    }
    if (out.velocity != nullptr) {
      change *= of_step;
      const Real velocity = kept * base.velocity[j] + change;
      out.velocity[j] = velocity;
      change = scale * (rule.nesterov ? momentum * velocity + change : velocity);
    }
    const Real w = base.w[j] - change;
    out.w[j] = w;
    if (out.average != nullptr) out.average[j] = base.average[j] + share * (w - base.average[j]);
  });
  block.sync();
}

/// The statistics of out, likewise, which stand from `learnt` on.
template <class Real, class Block>
GRADRACE_HD void merge(const Block& block, const KernelRule& rule, double statistics_decay,
                       const StateAt<Real>& base, double rate, double least, const Real* step,
                       const StateAt<Real>& out, std::uint32_t learnt, std::uint32_t parameters) {
  const bool vanishing = !(rate >= least);
  const Real decay = static_cast<Real>(statistics_decay);
  const Real per_rate = static_cast<Real>(1 / rate);
  const Real share = static_cast<Real>(1 - rule.ema);
  each(block, parameters - learnt, [&](std::uint32_t i) {
    const std::uint32_t j = learnt + i;
    Real w = base.w[j];
    if (!vanishing) w = decay * w + (1 - decay) * (step[j] * per_rate);
    out.w[j] = w;
    if (out.average != nullptr) out.average[j] = base.average[j] + share * (w - base.average[j]);
  });
  block.sync();
}

/// Replays a stretch of each run, a block for each run from its first update to its last.
///
/// What an update with one gradient must move, in numbers of Real, d parameters and m rows of f
/// features, beside what layers of maps write (see theirs): w is read twice (the way to the scores;
/// the base) and written once, 3 d; the rows are read twice, 2 m f bytes or floats.  Beside it
/// stand g and the step, written and read once each, 4 d, and read once more where a gradient is
/// clipped.
template <class Model>
struct ReplayKernel {
  using Real = typename Model::Number;

  Model model;
  double statistics_decay;
  Values<Real> values;
  const RunAt* runs;
  const KernelRecipe* recipes;
  const KernelRule* rules;
  const Stretch* stretches;  // [runs]
  const KernelUse* uses;
  const KernelUpdate* updates;
  double* factors;  // [uses]: what a distance left of the weights; null: nobody asks
  double least;     // smallest normal number of Real
  // Of each worker: g, step and the model's.
  Real* work;
  std::uint32_t* rows;
  std::uint64_t work_stride;
  std::uint32_t rows_stride;

  static constexpr std::uint32_t threads = Model::threads;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number,
                              std::uint32_t worker) const {
    const RunAt run = runs[number];
    const Stretch stretch = stretches[number];
    for (std::uint64_t i = 0; i < stretch.count; ++i)
      update(block, run, number, worker, updates[stretch.first + i], stretch.first_use);
  }

 private:
  template <class Block>
  GRADRACE_HD void update(const Block& block, const RunAt& run, std::uint32_t number,
                          std::uint32_t worker, const KernelUpdate& update,
                          std::uint64_t first_use) const {
    const std::uint32_t d = values.parameters, learnt = values.learnt;
    Real* const g = work + worker * work_stride;
    Real* const step = g + d;
    const KernelRule rule = rules[run.first_rule + update.rule];
    const StateAt<Real> base = values.at(run, number, update.base);
    each(block, d, [=](std::uint32_t j) { step[j] = 0; });
    double rate = 0;
    for (std::uint32_t i = update.first; i < update.first + update.count; ++i) {
      const KernelUse use = uses[first_use + i];
      const KernelRecipe recipe = recipes[run.first_recipe + use.recipe];
      const Real* const at = values.at(run, number, use.at).w;
      model.gradient(block, at,
                     MinibatchName{run.seed, run.replica, use.learner, use.draw, recipe.minibatch},
                     step + d, rows + std::uint64_t{worker} * rows_stride, g);
      const double factor =
          rule.distance > 0 ? distance_factor(block, rule.distance, base.w, at) : 1;
      if (factors != nullptr && block.thread() == 0) factors[first_use + i] = factor;
      double weight = factor * use.weight;
      rate += weight;
      const Real carried = static_cast<Real>(weight);  // share of the statistics
      if (recipe.clip > 0) weight *= clip_factor(block, recipe.clip, g);
      const Real share = static_cast<Real>(weight);
      each(block, learnt, [=](std::uint32_t j) { step[j] += share * g[j]; });
      each(block, d - learnt,
           [=](std::uint32_t j) { step[learnt + j] += carried * g[learnt + j]; });
      block.sync();  // g is free again
    }
    const StateAt<Real> out = values.at(run, number, update.out);
    move(block, rule, base, rate, least, step, out, learnt);
    if (learnt < d) merge(block, rule, statistics_decay, base, rate, least, step, out, learnt, d);
  }

  template <class Block>
  GRADRACE_HD double clip_factor(const Block& block, double clip, const Real* g) const {
    const double norm = std::sqrt(sum(block, values.learnt, [=](std::uint32_t j) {
      return static_cast<double>(g[j]) * static_cast<double>(g[j]);
    }));
    return norm > clip ? clip / norm : 1;
  }

  template <class Block>
  GRADRACE_HD double distance_factor(const Block& block, double distance, const Real* base,
                                     const Real* at) const {
    const double squared = sum(block, values.learnt, [=](std::uint32_t j) {
      const double difference = static_cast<double>(base[j] - at[j]);
      return difference * difference;
    });
    const double factor = distance / squared;
    return factor < 1 ? factor : 1;
  }
};

/// A value to be evaluated.
struct Evaluated {
  std::uint32_t run, slot;
};

/// Evaluates values, a block for each part of each.  Blocks beside each other look at the same
/// rows.
template <class Model>
struct EvaluationKernel {
  using Real = typename Model::Number;

  Model model;
  Values<Real> values;
  const RunAt* runs;
  const Evaluated* evaluated;  // [count]
  std::uint32_t count;
  EvaluationPart* parts;  // [count, model.parts()]
  Real* work;             // of each worker
  std::uint64_t work_stride;

  static constexpr std::uint32_t threads = Model::threads;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number,
                              std::uint32_t worker) const {
    const std::uint32_t value = number % count, part = number / count;
    const Evaluated what = evaluated[value];
    const StateAt<Real> state = values.at(runs[what.run], what.run, what.slot);
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

  static constexpr std::uint32_t threads = Model::threads;

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t value, std::uint32_t) const {
    const EvaluationSums result = model.add_up(block, parts + std::uint64_t{value} * model.parts());
    if (block.thread() == 0) sums[value] = result;
  }
};

}  // namespace gradrace::kernels
