#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/block_evaluation.h"
#include "models/in_place_replay.h"
#include "models/lowering.h"
#include "models/model.h"
#include "models/optimiser.h"
#include "models/replay_results.h"
#include "models/resident.h"
#include "models/snapshot_replay.h"
#include "models/value_pages.h"
#include "models/wave_replay.h"
#include "sim/check.h"

namespace gradrace {

/// Replays a cohort with a block of threads for each run, side by side.  The numbers of a run are
/// made by models/kernels; where the blocks are is the Launcher's business.  A kernel says of its
/// blocks how many threads they have, at_once how many of them a multiprocessor should hold at
/// least, and shared_numbers() of Real they share:
///
///     Memory<T>                       numbers on the device: made from a vector, which is copied,
///                                     or of a size; data(), size()
///     Staging<T>                      a vector on the host from and to which copies are quick
///     copy_in(from, count, to), copy_out(from, count, to)
///     launch(kernel, count, workers)  kernel(block, i, worker) for each i < count, one after the
///                                     other with the same worker < workers
///     multiply(product)               a BatchedProduct
///     wait()                          until all of these are done, which happen in their order
///     rows_together                   so many rows are evaluated at once by products
///     multiply_with(products)         what is left of float32 numbers when multiply() multiplies
///     blocks()                        that can be at work at the same time
///     shared_memory()                 of a block at the most, in bytes
///     free_memory(), name(), kernel_seconds()
template <class Resident, class Launcher>
class BlockDevice final : public Device {
 public:
  using Kernel = typename Resident::Kernel;
  using Real = typename Kernel::Number;

  /// `blueprint` is the model's.  std::runtime_error where the device has no memory for one run.
  template <class SomeBlueprint>
  BlockDevice(std::unique_ptr<Model<Real>> model, const SomeBlueprint& blueprint, Launcher launcher,
              const DeviceOptions& options)
      : launcher_(std::move(launcher)),
        model_(std::move(model)),
        resident_(blueprint),
        in_place_network_(resident_.in_place(launcher_.shared_memory())),
        wave_network_(in_place_network_ ? nullptr : resident_.unregularised()),
        learnt_(model_->parameters() - model_->statistics().count),
        evaluators_(evaluators_for(options)),
        cohort_(cohort_for(options)) {
    if (options.products == Products::float32) return;
    if (!wave_network_)
      throw std::runtime_error(launcher_.name() +
                               ": precision tf32 and bf16 are of networks of dense layers without "
                               "l2 that are too large for a block's memory; use float32");
    launcher_.multiply_with(options.products);
  }

  std::size_t cohort() const override { return cohort_; }
  std::string name() const override { return launcher_.name(); }
  std::optional<double> kernel_seconds() const override { return launcher_.kernel_seconds(); }

  void start(std::span<const Tape> tapes) override {
    runs_.clear();
    runs_at_.host.clear(), recipes_.host.clear(), rules_.host.clear();
    std::uint32_t minibatch = 1;
    std::size_t beside = 0;  // w, in a state
    for (const Tape& tape : tapes) {
      runs_.push_back(
          {.from_factors = (in_place_network_ || wave_network_) && InPlaceRuns::can_replay(tape),
           .lowering = Lowering(),
           .rate_factors = RateFactors(tape)});
      const kernels::RunAt& run = add_run(tape);
      beside =
          std::max(beside, run.average * parameters() + (run.velocity + run.mean_square) * learnt_);
      for (const Recipe& recipe : tape.recipes) minibatch = std::max(minibatch, recipe.minibatch);
    }
    runs_at_.send(launcher_), recipes_.send(launcher_), rules_.send(launcher_);
    if (!std::ranges::all_of(runs_, &RunOnHost::from_factors))
      snapshots_.start(launcher_, resident_.kernel(), parameters(), runs_.size(), minibatch);
    if (in_place_network_)
      in_place_.start(launcher_, runs_.size(), beside, minibatch, in_place_network_->of.l2 > 0);
    if (wave_network_) {
      waves_.start(launcher_, resident_.dense_layers(), runs_.size(), parameters(), beside,
                   minibatch);
      wave_evaluation_.start(resident_.dense_layers());
    }
    values_.start(launcher_, runs_.size(), parameters() + beside);
    for (std::size_t i = 0; i < tapes.size(); ++i) initialise(tapes[i], i);
    launcher_.wait();
  }

  void replay(std::span<const Segment* const> wave, std::span<Results> results) override {
    GRADRACE_CHECK(wave.size() == runs_.size() && results.size() == runs_.size(),
                   "a wave has one segment for each run of the cohort");
    lower(wave);
    send();
    for (std::size_t stage = 0; stage < stages_; ++stage) launch(stage);
    fetch(wave);
    launcher_.wait();
    answer(wave, results);
  }

  std::vector<double> parameters(std::size_t run) override {
    finals_.resize(parameters());
    launcher_.copy_out(values_.place(run, runs_[run].lowering.last()), parameters(),
                       finals_.data());
    launcher_.wait();
    return {finals_.begin(), finals_.end()};
  }

 private:
  using InPlaceRuns = InPlaceReplay<Real, Launcher>;
  using Waves = WaveReplay<Real, Launcher>;
  template <class T>
  using Memory = typename Launcher::template Memory<T>;
  template <class T>
  using Staging = typename Launcher::template Staging<T>;

  struct RunOnHost {
    bool from_factors;  // its gradients can be had
    Lowering lowering;
    RateFactors rate_factors;
    const Program* program = nullptr;       // of the wave; null: the run is over
    std::vector<std::size_t> answers = {};  // the stage of each evaluation
  };

  // ---- a cohort

  std::size_t parameters() const { return model_->parameters(); }

  std::uint64_t evaluation_work() const {
    const std::uint64_t numbers =
        in_place_network_ ? in_place_network_->work(1) : resident_.kernel().work(1);
    return std::max<std::uint64_t>(1, numbers * sizeof(Real));
  }

  /// Blocks that evaluate at the same time, with at most a quarter of the memory.
  std::uint32_t evaluators_for(const DeviceOptions& options) const {
    const std::uint64_t fitting = launcher_.free_memory() / 4 / evaluation_work();
    const std::uint64_t most = std::min<std::uint64_t>(launcher_.blocks(), fitting);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, most / options.devices));
  }

  /// So many runs fit: states with all that a rule may need, one for each learner and for each
  /// evaluation that waits, a gradient of each learner that waits for its update, and work memory.
  /// Protocols that let more gradients wait (K > P) may need more, and then say so as they run.
  std::size_t cohort_for(const DeviceOptions& options) const {
    const std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (parameters() > most / 4 || resident_.kernel().work(options.minibatch) > most)
      throw std::runtime_error(launcher_.name() + ": the model or its minibatch is too large: " +
                               std::to_string(parameters()) + " parameters, " +
                               std::to_string(options.minibatch) + " samples");
    const std::size_t slots = options.learners + Lowering::most_at_once + 2 + Values::page_slots;
    std::uint64_t run = (4 * parameters() * slots +
                         Snapshots::work_of(resident_.kernel(), parameters(), options.minibatch)) *
                        sizeof(Real);
    if (in_place_network_)
      run += options.learners * InPlaceRuns::place_bytes(*in_place_network_, options.minibatch) +
             3 * parameters() * sizeof(Real);
    if (wave_network_)
      run += options.learners * Waves::place_bytes(*wave_network_, options.minibatch) +
             Waves::run_numbers(parameters()) * sizeof(Real);
    const std::uint64_t evaluation = wave_network_
                                         ? WaveEvaluation<Real, Launcher>::bytes(*wave_network_)
                                         : evaluators_ * evaluation_work();
    const std::uint64_t free = launcher_.free_memory() / options.devices / 10 * 9;
    if (free < evaluation + run)
      throw std::runtime_error(launcher_.name() + ": a run with " +
                               std::to_string(options.learners) + " learners needs up to " +
                               std::to_string((evaluation + run) >> 20) + " MiB of memory, and " +
                               std::to_string(free >> 20) + " MiB are free");
    return std::clamp<std::uint64_t>((free - evaluation) / run, 1, most_runs);
  }

  static constexpr std::size_t most_runs = 4096;

  const kernels::RunAt& add_run(const Tape& tape) {
    kernels::RunAt run{.seed = tape.seed,
                       .replica = tape.replica,
                       .first_recipe = static_cast<std::uint32_t>(recipes_.host.size()),
                       .first_rule = static_cast<std::uint32_t>(rules_.host.size()),
                       .velocity = false,
                       .mean_square = false,
                       .average = false};
    for (const Recipe& recipe : tape.recipes)
      recipes_.host.push_back({recipe.minibatch, recipe.clip});
    for (const Rule& rule : tape.rules) {
      const RmsProp rmsprop = rule.rmsprop.value_or(RmsProp{.decay = -1, .epsilon = 0});
      rules_.host.push_back({rule.momentum, rule.ema, rule.distance, rmsprop.decay, rmsprop.epsilon,
                             rule.nesterov, rule.of_gradients, rule.from_rest});
      run.velocity = run.velocity || rule.momentum != 0;
      run.mean_square = run.mean_square || rule.rmsprop;
      run.average = run.average || rule.ema != 0;
    }
    runs_at_.host.push_back(run);
    return runs_at_.host.back();
  }

  void initialise(const Tape& tape, std::size_t number) {
    State<Real> initial;
    initial.w.resize(parameters());
    model_->initialise(tape.seed, tape.replica, initial.w);
    complete<Real>(initial, tape.rules, model_->statistics());
    initial_.clear();
    for (const auto* part : {&initial.w, &initial.velocity, &initial.mean_square, &initial.average})
      initial_.insert(initial_.end(), part->begin(), part->end());
    launcher_.copy_in(initial_.data(), initial_.size(), values_.place(number, 0));
    launcher_.wait();
  }

  // ---- a wave

  void lower(std::span<const Segment* const> wave) {
    snapshots_.clear(), in_place_.clear(), waves_.clear(), evaluation_.clear();
    stages_ = 0;
    for (std::uint32_t i = 0; i < wave.size(); ++i) {
      RunOnHost& run = runs_[i];
      run.program = wave[i] ? &run.lowering.lower(*wave[i]) : nullptr;
      run.answers.clear();
      if (!run.program) continue;
      if (run.from_factors && in_place_network_)
        in_place_.add(i, *run.program, run.lowering);
      else if (run.from_factors)
        waves_.add(i, runs_at_.host[i], recipes_of(i), *run.program, run.lowering);
      else
        snapshots_.add(i, *run.program);
      add_evaluations(i);
    }
  }

  std::span<const kernels::KernelRecipe> recipes_of(std::size_t run) const {
    return std::span<const kernels::KernelRecipe>(recipes_.host)
        .subspan(runs_at_.host[run].first_recipe);
  }

  void add_evaluations(std::uint32_t number) {
    RunOnHost& run = runs_[number];
    std::size_t stage = 0;
    for (const Step& step : run.program->steps) {
      if (step.kind != Step::Kind::evaluate) continue;
      for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
        evaluation_.add(stage, number, run.program->evaluated[i].at);
        run.answers.push_back(stage);
      }
      ++stage;
    }
    stages_ = std::max(stages_, stage + 1);
  }

  void send() {
    Slot slots = 0;
    for (const RunOnHost& run : runs_) slots = std::max(slots, run.lowering.slots());
    values_.grow(launcher_, slots);
    snapshots_.send(launcher_, factors_wanted());
    if (in_place_network_) in_place_.send(launcher_, *in_place_network_);
    if (wave_network_) waves_.send(launcher_, *wave_network_);
    evaluation_.send(launcher_);
  }

  bool factors_wanted() const {
    return std::ranges::any_of(runs_, [](const auto& run) { return run.rate_factors.wanted(); });
  }

  void launch(std::size_t stage) {
    const kernels::Cohort<Real> cohort{values_.view(parameters(), learnt_), runs_at_.data(),
                                       recipes_.data(), rules_.data(),
                                       static_cast<double>(std::numeric_limits<Real>::min())};
    snapshots_.launch(launcher_, stage, resident_.kernel(), model_->statistics().decay, cohort);
    if (wave_network_) {
      waves_.launch(launcher_, stage, *wave_network_, cohort);
      evaluation_.launch(launcher_, stage, *wave_network_, cohort, wave_evaluation_);
    } else if (in_place_network_) {
      in_place_.launch(launcher_, stage, *in_place_network_, cohort);
      evaluation_.launch(launcher_, stage, *in_place_network_, cohort, evaluators_);
    } else {
      evaluation_.launch(launcher_, stage, resident_.kernel(), cohort, evaluators_);
    }
  }

  void fetch(std::span<const Segment* const> wave) {
    evaluation_.fetch(launcher_);
    snapshots_.fetch(launcher_);
    const auto over = [&](std::size_t i) { return wave[i] && wave[i]->end != End::limit; };
    std::size_t count = 0;
    for (std::size_t i = 0; i < wave.size(); ++i) count += over(i);
    finals_.resize(count * parameters());
    Real* to = finals_.data();
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (!over(i)) continue;
      launcher_.copy_out(values_.place(i, runs_[i].lowering.last()), parameters(), to);
      to += parameters();
    }
  }

  void answer(std::span<const Segment* const> wave, std::span<Results> results) {
    std::vector<std::size_t> next(stages_, 0);  // answer of each stage
    std::span<const Real> finals(finals_);
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (!wave[i]) continue;
      RunOnHost& run = runs_[i];
      Results& result = results[i] = {};
      result.gradients_computed = run.program->uses.size();
      for (const std::size_t stage : run.answers)
        result.evaluations.push_back(resident_.evaluation(evaluation_.sums(stage, next[stage]++)));
      if (run.rate_factors.wanted())
        run.rate_factors.add(*run.program, snapshots_.factors(i, *run.program), result);
      if (wave[i]->end == End::limit) continue;
      result.hash = hash_of(finals.first(parameters()));
      finals = finals.subspan(parameters());
    }
  }

  using Values = kernels::Values<Real>;
  using Snapshots = SnapshotReplay<Kernel, Launcher>;

  Launcher launcher_;
  std::unique_ptr<Model<Real>> model_;
  Resident resident_;
  // Null: no run is replayed like that.
  const kernels::InPlaceNetwork<Real>* in_place_network_;
  const kernels::InPlaceNetwork<Real>* wave_network_;
  std::size_t learnt_;  // of the parameters
  std::uint32_t evaluators_;
  std::size_t cohort_;

  std::vector<RunOnHost> runs_;
  Mirror<kernels::RunAt, Launcher> runs_at_;
  Mirror<kernels::KernelRecipe, Launcher> recipes_;
  Mirror<kernels::KernelRule, Launcher> rules_;
  ValuePages<Real, Launcher> values_;
  Staging<Real> initial_;

  std::size_t stages_ = 0;  // of the wave
  Snapshots snapshots_;
  InPlaceRuns in_place_;
  Waves waves_;
  BlockEvaluation<Real, Launcher> evaluation_;
  WaveEvaluation<Real, Launcher> wave_evaluation_;
  Staging<Real> finals_;  // parameters of the runs whose segment is not cut by a limit
};

/// The device of that model with those blocks.
template <class Real, class Launcher>
std::unique_ptr<Device> make_block_device(std::unique_ptr<Model<Real>> model, Launcher launcher,
                                          const DeviceOptions& options) {
  const Blueprint blueprint = model->blueprint();
  if (std::holds_alternative<NoBlueprint>(blueprint))
    throw std::runtime_error(launcher.name() +
                             ": only the CPU computes this model; use --device cpu");
  if (const auto* network = std::get_if<NetworkBlueprint>(&blueprint)) {
    if (is_plain(*network))
      return std::make_unique<BlockDevice<ResidentNetwork<Real, Launcher, true>, Launcher>>(
          std::move(model), *network, std::move(launcher), options);
    return std::make_unique<BlockDevice<ResidentNetwork<Real, Launcher, false>, Launcher>>(
        std::move(model), *network, std::move(launcher), options);
  }
  return std::make_unique<BlockDevice<ResidentQuadratic<Real, Launcher>, Launcher>>(
      std::move(model), std::get<QuadraticBlueprint>(blueprint), std::move(launcher), options);
}

}  // namespace gradrace
