#pragma once

#include "models/kernels/pass.h"
#include "models/kernels/replay.h"

/// Updates of a network's runs by gradients that a pass has made.
namespace gradrace::kernels {

/// An update of a run.
struct UpdateJob {
  std::uint32_t run, out, base, rule;
};

/// A gradient of an update; a job of a pass.
struct GradientJob {
  UpdateJob update;
  std::uint64_t use;  // of the wave
};

/// Draws the rows of minibatches, and says where they are looked at and where their gradients go; a
/// block for each job, and for each of nobody's.
template <class Number>
struct GradientBeginKernel {
  using Real = Number;

  Pass<Real> pass;
  Cohort<Real> cohort;
  const GradientJob* jobs;  // [count]
  std::uint32_t count;
  const KernelUse* uses;
  Real* gradients;  // [together, parameters]

  static constexpr std::uint32_t threads = 128, at_once = 1;
  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    if (number >= count) return pass.fill_up(block, number);
    const GradientJob job = jobs[number];
    const RunAt run = cohort.runs[job.update.run];
    const KernelUse use = uses[job.use];
    pass.network.draw(block, {run.seed, run.replica, use.learner, use.draw, pass.n},
                      pass.rows(number));
    pass.begin(block, number, cohort.values.at(run, job.update.run, use.at).w,
               gradients + std::uint64_t{number} * cohort.values.parameters);
  }
};

/// x, the augmented images of minibatches; a block for so many rows of pixels of each job.
template <class Number>
struct AugmentKernel {
  using Real = Number;

  Pass<Real> pass;
  const RunAt* runs;
  const GradientJob* jobs;
  const KernelUse* uses;

  static constexpr std::uint32_t threads = 256, at_once = 1, together = 256;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t rows() const {
    return pass.n * pass.network.images.channels * pass.network.images.height;
  }
  GRADRACE_HD std::uint32_t blocks() const { return (rows() + together - 1) / together; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t job = number / blocks(), first = number % blocks() * together;
    const RunAt run = runs[jobs[job].update.run];
    const KernelUse use = uses[jobs[job].use];
    const MinibatchName name{run.seed, run.replica, use.learner, use.draw, pass.n};
    const std::uint32_t left = rows() - first;
    with_rows<Real>(pass.network.train, pass.rows(job), [&](const auto& x) {
      each(block, left < together ? left : together, [&](std::uint32_t i) {
        augment_row(name, pass.network.images, x, first + i, pass.x(job));
      });
    });
  }
};

/// Scores become the derivatives by them; a block for each job.
template <class Number>
struct DifferentiateKernel {
  using Real = Number;

  Pass<Real> pass;

  static constexpr std::uint32_t threads = 128, at_once = 1;
  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t job, std::uint32_t) const {
    const Network<Real>& network = pass.network;
    const Labels labels = network.labels_of(network.train, pass.rows(job));
    Real* const scores = pass.scores(job);
    each(block, pass.n,
         [&](std::uint32_t i) { differentiate(labels, i, pass.n, scores + i * labels.scores); });
  }
};

/// What updates of runs have beside slots.
template <class Real>
struct Steps {
  Real* steps;    // [runs, parameters]: the sum of weight g; zeros between updates
  double* rates;  // [runs]: the sum of weights; likewise
};

/// Adds the gradients of a pass to the steps of their runs, each run's in their order; a block for
/// each job, of which the first of each run does the work.
template <class Number>
struct AddKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const GradientJob* jobs;  // [count], those of a run beside each other
  std::uint32_t count;
  const KernelUse* uses;
  const Real* gradients;
  Steps<Real> to;
  double* factors;  // [uses]; null: nobody asks

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const UpdateJob update = jobs[number].update;
    const std::uint32_t of = update.run;
    if (number > 0 && jobs[number - 1].update.run == of) return;
    const RunAt run = cohort.runs[of];
    const Values<Real>& values = cohort.values;
    const KernelRule rule = cohort.rules[run.first_rule + update.rule];
    double rate = to.rates[of];
    block.sync();
    for (std::uint32_t i = number; i < count && jobs[i].update.run == of; ++i) {
      const KernelUse use = uses[jobs[i].use];
      rate +=
          add_use(block, values, rule, values.at(run, of, update.base).w,
                  {cohort.recipes[run.first_recipe + use.recipe], use.weight,
                   values.at(run, of, use.at).w, gradients + std::uint64_t{i} * values.parameters,
                   factors != nullptr ? factors + jobs[i].use : nullptr},
                  to.steps + std::uint64_t{of} * values.parameters);
    }
    if (block.thread() == 0) to.rates[of] = rate;
  }
};

/// Moves states by their steps, which become zeros; a block for each.
template <class Number>
struct MoveKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const UpdateJob* updates;
  Steps<Real> by;
  double statistics_decay;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const UpdateJob update = updates[number];
    const RunAt run = cohort.runs[update.run];
    const Values<Real>& values = cohort.values;
    Real* const step = by.steps + std::uint64_t{update.run} * values.parameters;
    move_state(block, cohort, cohort.rules[run.first_rule + update.rule], statistics_decay,
               by.rates[update.run], values.at(run, update.run, update.base), step,
               values.at(run, update.run, update.out));
    each(block, values.parameters, [=](std::uint32_t j) { step[j] = 0; });
    if (block.thread() == 0) by.rates[update.run] = 0;
  }
};

}  // namespace gradrace::kernels
