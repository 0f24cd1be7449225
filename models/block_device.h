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

#include "models/kernels/replay.h"
#include "models/lowering.h"
#include "models/model.h"
#include "models/optimiser.h"
#include "models/replay_results.h"
#include "models/resident.h"
#include "sim/check.h"

namespace gradrace {

/// Replays a cohort with a block of threads for each run, side by side.  The numbers of a run are
/// made by models/kernels; where the blocks are is the Launcher's business:
///
///     Memory<T>                       numbers on the device: made from a vector, which is copied,
///                                     or of a size; data(), size()
///     Staging<T>                      a vector on the host from and to which copies are quick
///     copy_in(from, count, to), copy_out(from, count, to)
///     launch(kernel, count, workers)  kernel(block, i, worker) for each i < count, one after the
///                                     other with the same worker < workers
///     wait()                          until all of these are done, which happen in their order
///     blocks()                        that can be at work at the same time
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
        learnt_(model_->parameters() - model_->statistics().count),
        evaluators_(evaluators_for(options)),
        cohort_(cohort_for(options)) {}

  std::size_t cohort() const override { return cohort_; }
  std::string name() const override { return launcher_.name(); }
  std::optional<double> kernel_seconds() const override { return launcher_.kernel_seconds(); }

  void start(std::span<const Tape> tapes) override {
    runs_.clear();
    recipes_.clear(), rules_.clear(), runs_at_.clear();
    std::uint32_t minibatch = 1;
    std::size_t numbers = 0;  // of a state
    for (const Tape& tape : tapes) {
      runs_.push_back({Lowering(), RateFactors(tape)});
      add_run(tape);
      const kernels::RunAt& run = runs_at_.back();
      numbers = std::max(
          numbers, (1 + run.average) * parameters() + (run.velocity + run.mean_square) * learnt_);
      for (const Recipe& recipe : tape.recipes) minibatch = std::max(minibatch, recipe.minibatch);
    }
    upload(runs_at_, runs_on_), upload(recipes_, recipes_on_), upload(rules_, rules_on_);
    make_work(minibatch);
    make_values(numbers);
    for (std::size_t i = 0; i < tapes.size(); ++i) initialise(tapes[i], i);
    launcher_.wait();
  }

  void replay(std::span<const Segment* const> wave, std::span<Results> results) override {
    GRADRACE_CHECK(wave.size() == runs_.size() && results.size() == runs_.size(),
                   "a wave has one segment for each run of the cohort");
    lower(wave);
    grow_values();
    send();
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) launch(stage);
    fetch(wave);
    launcher_.wait();
    answer(wave, results);
  }

  std::vector<double> parameters(std::size_t run) override {
    finals_.resize(parameters());
    launcher_.copy_out(place(run, runs_[run].lowering.last()), parameters(), finals_.data());
    launcher_.wait();
    return {finals_.begin(), finals_.end()};
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;
  template <class T>
  using Staging = typename Launcher::template Staging<T>;

  static constexpr std::uint32_t page_slots = kernels::Values<Real>::page_slots;
  static constexpr std::size_t most_parts = std::size_t{1} << 20;  // of evaluations at once

  struct RunOnHost {
    Lowering lowering;
    RateFactors rate_factors;
    const Program* program = nullptr;       // of the wave; null: the run is over
    std::uint64_t first_use = 0;            // in the wave's
    std::vector<std::size_t> answers = {};  // the stage of each evaluation
  };

  /// What is done between two evaluations of any run.
  struct Stage {
    std::size_t first_evaluated = 0, evaluated = 0;  // after the updates
    bool updates = false;
  };

  // ---- a cohort

  std::size_t parameters() const { return model_->parameters(); }

  /// Blocks that evaluate at the same time, with at most a quarter of the memory.
  std::uint32_t evaluators_for(const DeviceOptions& options) const {
    const std::uint64_t one = std::max<std::uint64_t>(1, resident_.kernel().work(1) * sizeof(Real));
    const std::uint64_t fitting = launcher_.free_memory() / 4 / one;
    const std::uint64_t most = std::min<std::uint64_t>(launcher_.blocks(), fitting);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, most / options.devices));
  }

  /// So many runs fit for sure: states with all that a rule may need, one for each learner and for
  /// each evaluation that waits, and work memory.
  std::size_t cohort_for(const DeviceOptions& options) const {
    const std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (parameters() > most / 4 || resident_.kernel().work(options.minibatch) > most)
      throw std::runtime_error(launcher_.name() + ": the model or its minibatch is too large: " +
                               std::to_string(parameters()) + " parameters, " +
                               std::to_string(options.minibatch) + " samples");
    const std::size_t slots = options.learners + Lowering::most_at_once + 2 + page_slots;
    const std::uint64_t run =
        (4 * parameters() * slots + work_of(options.minibatch)) * sizeof(Real);
    const std::uint64_t evaluation = evaluators_ * resident_.kernel().work(1) * sizeof(Real);
    const std::uint64_t free = launcher_.free_memory() / options.devices / 10 * 9;
    if (free < evaluation + run)
      throw std::runtime_error(launcher_.name() + ": a run with " +
                               std::to_string(options.learners) + " learners needs up to " +
                               std::to_string((evaluation + run) >> 20) + " MiB of memory, and " +
                               std::to_string(free >> 20) + " MiB are free");
    return std::clamp<std::uint64_t>((free - evaluation) / run, 1, most_runs);
  }

  static constexpr std::size_t most_runs = 4096;

  void add_run(const Tape& tape) {
    kernels::RunAt run{.seed = tape.seed,
                       .replica = tape.replica,
                       .first_recipe = static_cast<std::uint32_t>(recipes_.size()),
                       .first_rule = static_cast<std::uint32_t>(rules_.size()),
                       .velocity = false,
                       .mean_square = false,
                       .average = false};
    for (const Recipe& recipe : tape.recipes) recipes_.push_back({recipe.minibatch, recipe.clip});
    for (const Rule& rule : tape.rules) {
      const RmsProp rmsprop = rule.rmsprop.value_or(RmsProp{.decay = -1, .epsilon = 0});
      rules_.push_back({rule.momentum, rule.ema, rule.distance, rmsprop.decay, rmsprop.epsilon,
                        rule.nesterov, rule.of_gradients, rule.from_rest});
      run.velocity = run.velocity || rule.momentum != 0;
      run.mean_square = run.mean_square || rule.rmsprop;
      run.average = run.average || rule.ema != 0;
    }
    runs_at_.push_back(run);
  }

  void make_work(std::uint32_t minibatch) {
    const Kernel& kernel = resident_.kernel();
    workers_ = static_cast<std::uint32_t>(std::min(runs_.size(), launcher_.blocks()));
    work_stride_ = work_of(minibatch);
    rows_stride_ = Kernel::work_rows(minibatch);
    reserve(work_, std::max(workers_ * work_stride_, evaluators_ * kernel.work(1)));
    reserve(work_rows_, std::size_t{workers_} * rows_stride_);
  }

  /// Numbers that a block needs for a run: g, step and the model's.
  std::uint64_t work_of(std::uint32_t minibatch) const {
    return 2 * parameters() + resident_.kernel().work(minibatch);
  }

  /// Slots for the values 0; the pages of another shape are given back.
  void make_values(std::size_t stride) {
    if (stride != stride_ || runs_.size() != page_runs_) pages_.clear();
    stride_ = stride;
    page_runs_ = runs_.size();
    if (pages_.empty()) add_page();
  }

  void add_page() {
    pages_.emplace_back(runs_.size() * page_slots * stride_);
    page_table_.clear();
    for (const auto& page : pages_) page_table_.push_back(page.data());
    upload(page_table_, page_table_on_);
    launcher_.wait();
  }

  void initialise(const Tape& tape, std::size_t number) {
    State<Real> initial;
    initial.w.resize(parameters());
    model_->initialise(tape.seed, tape.replica, initial.w);
    complete<Real>(initial, tape.rules, model_->statistics());
    initial_.clear();
    for (const auto* part : {&initial.w, &initial.velocity, &initial.mean_square, &initial.average})
      initial_.insert(initial_.end(), part->begin(), part->end());
    launcher_.copy_in(initial_.data(), initial_.size(), place(number, 0));
    launcher_.wait();
  }

  Real* place(std::size_t run, Slot slot) const {
    return pages_[slot / page_slots].data() + (run * page_slots + slot % page_slots) * stride_;
  }

  // ---- a wave

  void lower(std::span<const Segment* const> wave) {
    uses_.clear(), updates_.clear(), stages_.clear(), stretches_.clear();
    for (auto& evaluated : evaluated_of_) evaluated.clear();
    for (std::size_t i = 0; i < wave.size(); ++i) {
      RunOnHost& run = runs_[i];
      run.program = wave[i] ? &run.lowering.lower(*wave[i]) : nullptr;
      run.answers.clear();
      run.first_use = uses_.size();
      if (run.program) add_program(static_cast<std::uint32_t>(i), run);
    }
    evaluated_.clear();
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      stages_[stage].first_evaluated = evaluated_.size();
      stages_[stage].evaluated = evaluated_of_[stage].size();
      evaluated_.insert(evaluated_.end(), evaluated_of_[stage].begin(), evaluated_of_[stage].end());
    }
  }

  /// Cuts the program into the stages.
  void add_program(std::uint32_t number, RunOnHost& run) {
    for (const SlotUse& use : run.program->uses)
      uses_.push_back({use.at, use.learner, use.draw, use.recipe, use.weight});
    std::size_t stage = 0;
    std::uint64_t first = updates_.size();
    for (const Step& step : run.program->steps) {
      if (step.kind == Step::Kind::update) {
        updates_.push_back({step.out, step.base, step.rule, step.first, step.count});
        continue;
      }
      end_stretch(number, run, stage, first);
      for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
        evaluated_of_[stage].push_back({number, run.program->evaluated[i].at});
        run.answers.push_back(stage);
      }
      first = updates_.size();
      ++stage;
    }
    if (updates_.size() > first) end_stretch(number, run, stage, first);
  }

  void end_stretch(std::uint32_t number, const RunOnHost& run, std::size_t stage,
                   std::uint64_t first) {
    if (stage == stages_.size()) {
      stages_.emplace_back();
      stretches_.resize(stages_.size() * runs_.size(), {});
      if (evaluated_of_.size() < stages_.size()) evaluated_of_.emplace_back();
    }
    const std::uint64_t count = updates_.size() - first;
    stretches_[stage * runs_.size() + number] = {run.first_use, first, count};
    stages_[stage].updates = stages_[stage].updates || count > 0;
  }

  void grow_values() {
    Slot slots = 0;
    for (const RunOnHost& run : runs_) slots = std::max(slots, run.lowering.slots());
    while (pages_.size() * page_slots < slots) add_page();
  }

  void send() {
    upload(uses_, uses_on_), upload(updates_, updates_on_), upload(stretches_, stretches_on_);
    upload(evaluated_, evaluated_on_);
    reserve(sums_on_, evaluated_.size());
    if (factors_wanted()) reserve(factors_on_, uses_.size());
  }

  bool factors_wanted() const {
    return std::ranges::any_of(runs_, [](const auto& run) { return run.rate_factors.wanted(); });
  }

  kernels::Values<Real> values() const {
    return {page_table_on_.data(), stride_, static_cast<std::uint32_t>(parameters()),
            static_cast<std::uint32_t>(learnt_)};
  }

  void launch(std::size_t stage) {
    if (stages_[stage].updates) {
      launcher_.launch(
          kernels::ReplayKernel<Kernel>{
              resident_.kernel(), model_->statistics().decay, values(), runs_on_.data(),
              recipes_on_.data(), rules_on_.data(), stretches_on_.data() + stage * runs_.size(),
              uses_on_.data(), updates_on_.data(), factors_wanted() ? factors_on_.data() : nullptr,
              static_cast<double>(std::numeric_limits<Real>::min()), work_.data(),
              work_rows_.data(), work_stride_, rows_stride_},
          static_cast<std::uint32_t>(runs_.size()), workers_);
    }
    const std::size_t parts = resident_.kernel().parts();
    const std::size_t together = std::max<std::size_t>(1, most_parts / parts);
    for (std::size_t done = 0; done < stages_[stage].evaluated; done += together) {
      evaluate(stages_[stage].first_evaluated + done,
               std::min(together, stages_[stage].evaluated - done));
    }
  }

  void evaluate(std::size_t first, std::size_t count) {
    const Kernel& kernel = resident_.kernel();
    const auto values_count = static_cast<std::uint32_t>(count);
    reserve(parts_on_, count * kernel.parts());
    launcher_.launch(
        kernels::EvaluationKernel<Kernel>{kernel, values(), runs_on_.data(),
                                          evaluated_on_.data() + first, values_count,
                                          parts_on_.data(), work_.data(), kernel.work(1)},
        values_count * kernel.parts(), evaluators_);
    launcher_.launch(
        kernels::EvaluationSumKernel<Kernel>{kernel, parts_on_.data(), sums_on_.data() + first},
        values_count, evaluators_);
  }

  void fetch(std::span<const Segment* const> wave) {
    download(sums_on_, evaluated_.size(), sums_);
    if (factors_wanted()) download(factors_on_, uses_.size(), factors_);
    const auto over = [&](std::size_t i) { return wave[i] && wave[i]->end != End::limit; };
    std::size_t count = 0;
    for (std::size_t i = 0; i < wave.size(); ++i) count += over(i);
    finals_.resize(count * parameters());
    Real* to = finals_.data();
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (!over(i)) continue;
      launcher_.copy_out(place(i, runs_[i].lowering.last()), parameters(), to);
      to += parameters();
    }
  }

  void answer(std::span<const Segment* const> wave, std::span<Results> results) {
    // Where the next answer of a run stands among those of each stage.
    std::vector<std::size_t> next(stages_.size());
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      next[stage] = stages_[stage].first_evaluated;
    std::span<const Real> finals(finals_);
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (!wave[i]) continue;
      RunOnHost& run = runs_[i];
      Results& result = results[i] = {};
      result.gradients_computed = run.program->uses.size();
      for (const std::size_t stage : run.answers)
        result.evaluations.push_back(resident_.evaluation(sums_[next[stage]++]));
      if (run.rate_factors.wanted()) {
        run.rate_factors.add(
            *run.program,
            std::span<const double>(factors_).subspan(run.first_use, run.program->uses.size()),
            result);
      }
      if (wave[i]->end == End::limit) continue;
      result.hash = hash_of(finals.first(parameters()));
      finals = finals.subspan(parameters());
    }
  }

  // ---- memory

  template <class T>
  void reserve(Memory<T>& memory, std::size_t count) {
    if (memory.size() >= count) return;
    launcher_.wait();  // somebody may still use it
    const std::size_t size = std::max(count, memory.size() + memory.size() / 2);
    memory = {};
    memory = Memory<T>(size);
  }

  template <class T>
  void upload(const Staging<T>& from, Memory<T>& to) {
    reserve(to, from.size());
    launcher_.copy_in(from.data(), from.size(), to.data());
  }

  template <class T>
  void download(const Memory<T>& from, std::size_t count, Staging<T>& to) {
    to.resize(count);
    launcher_.copy_out(from.data(), count, to.data());
  }

  Launcher launcher_;
  std::unique_ptr<Model<Real>> model_;
  Resident resident_;
  std::size_t learnt_;  // of the parameters
  std::uint32_t evaluators_;
  std::size_t cohort_;

  std::vector<RunOnHost> runs_;
  Staging<kernels::RunAt> runs_at_;
  Staging<kernels::KernelRecipe> recipes_;
  Staging<kernels::KernelRule> rules_;
  Memory<kernels::RunAt> runs_on_;
  Memory<kernels::KernelRecipe> recipes_on_;
  Memory<kernels::KernelRule> rules_on_;

  std::size_t stride_ = 0, page_runs_ = 0;
  std::vector<Memory<Real>> pages_;
  Staging<Real*> page_table_;
  Memory<Real*> page_table_on_;
  Staging<Real> initial_;

  std::uint32_t workers_ = 0, rows_stride_ = 0;
  std::uint64_t work_stride_ = 0;
  Memory<Real> work_;  // of the blocks that replay, then of those that evaluate
  Memory<std::uint32_t> work_rows_;

  // Of the wave.
  std::vector<Stage> stages_;
  std::vector<std::vector<kernels::Evaluated>> evaluated_of_;  // [stage]
  Staging<kernels::KernelUse> uses_;
  Staging<kernels::KernelUpdate> updates_;
  Staging<kernels::Stretch> stretches_;  // [stage, run]
  Staging<kernels::Evaluated> evaluated_;
  Memory<kernels::KernelUse> uses_on_;
  Memory<kernels::KernelUpdate> updates_on_;
  Memory<kernels::Stretch> stretches_on_;
  Memory<kernels::Evaluated> evaluated_on_;
  Memory<kernels::EvaluationPart> parts_on_;
  Memory<kernels::EvaluationSums> sums_on_;
  Memory<double> factors_on_;
  Staging<kernels::EvaluationSums> sums_;
  Staging<double> factors_;
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
