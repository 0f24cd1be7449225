#pragma once

#include "models/gpu/kernels/pass.h"
#include "models/gpu/kernels/replay.h"

/// Updates of a network's runs by gradients that a pass has made.
namespace gradrace::kernels {

/// An update of a run; uses: of the wave, [first, first + count).
struct UpdateJob {
  std::uint32_t run, out, base, rule;
  std::uint64_t first;
  std::uint32_t count;
};

/// A gradient of an update; a job of a pass.
struct GradientJob {
  UpdateJob update;
  std::uint64_t use;  // of the wave
};

/// The gradients of a model that needs no pass; a block for each job.
template <class Model>
struct GradientKernel {
  using Real = typename Model::Number;

  Model model;
  Cohort<Real> cohort;
  const GradientJob* jobs;
  const KernelUse* uses;
  Real* made;          // [jobs]: each in fours
  Real** gradients;    // likewise: where each is
  UseWeight* weights;  // [uses], which are known; null: they are not
  double* factors;     // likewise, with them; null: not fetched

  static constexpr std::uint32_t threads = Model::threads, at_once = Model::at_once;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const GradientJob job = jobs[number];
    const RunAt run = cohort.runs[job.update.run];
    const KernelUse use = uses[job.use];
    const std::uint32_t minibatch = cohort.recipes[run.first_recipe + use.recipe].minibatch;
    Real* const g = made + std::uint64_t{number} * in_fours(cohort.values.parameters);
    if (block.thread() == 0) {
      gradients[number] = g;
      if (weights != nullptr) weights[job.use] = {use.weight, use.weight};
      if (weights != nullptr && factors != nullptr) factors[job.use] = 1;
    }
    model.gradient(block, cohort.values.at(run, job.update.run, use.at).w,
                   MinibatchName{run.seed, run.replica, use.learner, use.draw, minibatch}, g);
  }
};

/// Draws the rows of minibatches and says what moves; a block for each job.
template <class Number>
struct GradientBeginKernel {
  using Real = Number;

  Pass<Real> pass;
  Cohort<Real> cohort;
  const GradientJob* jobs;
  const KernelUse* uses;
  Real* gradients;     // [jobs]: each in fours
  UseWeight* weights;  // [uses]; those of a pass that moves states by itself are known here
  double* factors;     // likewise; null: not fetched

  static constexpr std::uint32_t threads = 128, at_once = 1;
  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const GradientJob job = jobs[number];
    const RunAt run = cohort.runs[job.update.run];
    const KernelUse use = uses[job.use];
    const Values<Real>& values = cohort.values;
    pass.network.draw({run.seed, run.replica, use.learner, use.draw, pass.n}, pass.rows(number),
                      block.thread(), block.threads());
    block.sync();
    if (pass.moves != nullptr && block.thread() == 0) {
      pass.moves[number] = {values.at(run, job.update.run, job.update.base).w,
                            values.at(run, job.update.run, job.update.out).w,
                            static_cast<Real>(use.weight)};
      weights[job.use] = {use.weight, use.weight};
      if (factors != nullptr) factors[job.use] = 1;
    }
    pass.begin(block, number, values.at(run, job.update.run, use.at).w,
               gradients + std::uint64_t{number} * in_fours(values.parameters));
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
    return static_cast<std::uint32_t>(pass.n * pass.network.images.channels *
                                      pass.network.images.height);
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

/// The weights of the gradients of a pass; a block for each.
template <class Number>
struct WeighKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const GradientJob* jobs;
  const KernelUse* uses;
  Real* const* gradients;  // [jobs]
  UseWeight* weights;      // [uses]
  double* factors;         // [uses]: distance factors; null: not fetched

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const GradientJob job = jobs[number];
    const UpdateJob& update = job.update;
    const RunAt run = cohort.runs[update.run];
    const Values<Real>& values = cohort.values;
    const KernelUse use = uses[job.use];
    const UseWeight weight = weigh_use(block, values, cohort.rules[run.first_rule + update.rule],
                                       values.at(run, update.run, update.base).w,
                                       {cohort.recipes[run.first_recipe + use.recipe], use.weight,
                                        values.at(run, update.run, use.at).w, gradients[number],
                                        factors != nullptr ? factors + job.use : nullptr});
    if (block.thread() == 0) weights[job.use] = weight;
  }
};

/// Adds the gradients of a pass to the steps of their runs, each run's of a minibatch's size in the
/// order of its uses; a block for each chunk of each job, of which those of each run's first job do
/// the work.
template <class Number>
struct AddKernel {
  using Real = Number;

  Values<Real> values;
  const GradientJob* jobs;  // [count], those of a run beside each other
  std::uint32_t count;
  const UseWeight* weights;  // [uses]
  Real* const* gradients;    // [count]
  Real* steps;               // [runs, parameters]: the sum of weight g; zeros between updates

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t blocks() const { return chunks(values.parameters); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t first = number / blocks();
    const UpdateJob update = jobs[first].update;
    if (first > 0 && jobs[first - 1].update.run == update.run) return;
    std::uint32_t last = first;
    while (last < count && jobs[last].update.run == update.run) ++last;
    Real* const step = steps + std::uint64_t{update.run} * values.parameters;
    each_of_chunk(block, number % blocks(), values.parameters, [&](std::uint64_t at) {
      const auto j = static_cast<std::uint32_t>(at);
      Real sum = step[j];
      for (std::uint32_t i = first; i < last; ++i)
        sum += weights[jobs[i].use].template of<Real>(j, values.learnt) * gradients[i][j];
      step[j] = sum;
    });
  }
};

/// Moves states, but for the numbers that are `moved` already: by the one gradient of each update,
/// or by its run's step, which becomes zeros.  A block for each chunk of each.
template <class Number>
struct MoveKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const GradientJob* jobs;   // of steps only the update
  const UseWeight* weights;  // [uses]
  Real* const* gradients;    // [jobs]; null: steps
  Real* steps;               // [runs, parameters]
  double statistics_decay;
  NumberRange moved;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t count() const { return cohort.values.parameters - moved.count; }
  GRADRACE_HD std::uint32_t blocks() const { return chunks(count()); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t place = number / blocks();
    const UpdateJob update = jobs[place].update;
    const RunAt run = cohort.runs[update.run];
    const Values<Real>& values = cohort.values;
    const bool by_steps = gradients == nullptr;
    Real* const g =
        by_steps ? steps + std::uint64_t{update.run} * values.parameters : gradients[place];
    const UseWeight weight = by_steps ? UseWeight{1, 1} : weights[update.first];
    double rate = 0;
    for (std::uint64_t use = update.first; use < update.first + update.count; ++use)
      rate += weights[use].carried;
    const KernelRule rule = cohort.rules[run.first_rule + update.rule];
    const StateAt<Real> base = values.at(run, update.run, update.base);
    const StateAt<Real> out = values.at(run, update.run, update.out);
    const Move<Real> move(rule.optimiser, rule.ema, run.layout, statistics_decay,
                          {base, out, rate});
    each_of_chunk(block, number % blocks(), count(), [&](std::uint64_t at) {
      const auto i = static_cast<std::uint32_t>(at), j = i < moved.first ? i : i + moved.count;
      out.w[j] = move(j, base.w[j], weight.template of<Real>(j, values.learnt) * g[j]);
      if (by_steps) g[j] = 0;
    });
  }
};

}  // namespace gradrace::kernels
