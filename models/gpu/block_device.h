#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/gpu/block_evaluation.h"
#include "models/gpu/launcher.h"
#include "models/gpu/messages.h"
#include "models/gpu/network_replay.h"
#include "models/gpu/quadratic_replay.h"
#include "models/gpu/stages.h"
#include "models/gpu/value_pages.h"
#include "models/gpu/whole_states.h"
#include "models/model/model.h"
#include "models/optimiser/optimiser.h"
#include "models/replay/lowering.h"
#include "models/replay/replay_results.h"
#include "sim/check.h"

namespace gradrace {

/// What replays the runs of a cohort side by side for a BlockDevice, and evaluates their values.
/// What it needs of memory is said in bytes, of one run beside its values and of all together.  The
/// programs of a wave are added one by one, sent to the device together, and launched stage by
/// stage: of each it moves the states.
template <class T, class Launcher>
concept BlockReplay = BlockLauncher<Launcher> &&
    requires(T& replay, const T& same, Launcher& launcher, const DeviceOptions& options,
             const ReplayShape& shape, std::span<const Tape> tapes, std::span<const Recipe> recipes,
             const Tape& tape, const Program& program, const Stages& stages,
             const Lowering& lowering, const kernels::Cohort<typename T::Number>& cohort,
             BlockEvaluation<typename T::Number, Launcher>& evaluation,
             const kernels::EvaluationSums& sums) {
  { same.run_bytes(options, std::uint64_t{}) } -> std::same_as<std::uint64_t>;
  { same.shared_bytes(options) } -> std::same_as<std::uint64_t>;
  { same.numbers_of_a_gradient(options) } -> std::same_as<std::uint64_t>;
  replay.start(launcher, tapes, shape);
  { same.lowering(tape) } -> std::same_as<Lowering>;
  replay.clear();
  replay.add(std::uint32_t{}, recipes, program, stages, lowering);
  replay.send(launcher, bool{});
  replay.launch(launcher, std::size_t{}, cohort);
  replay.evaluate(launcher, std::size_t{}, cohort, evaluation);
  replay.fetch(launcher);
  { same.factors(std::size_t{}, program) } -> std::same_as<std::span<const double>>;
  { same.messages() } -> std::same_as<const Messages<typename T::Number, Launcher>&>;
  { same.evaluation(sums) } -> std::same_as<Evaluation>;
};

/// A device whose numbers blocks of threads compute, with the kernels of this folder.
template <class Replay, class Launcher>
requires BlockReplay<Replay, Launcher>
class BlockDevice final : public Device {
 public:
  using Real = typename Replay::Number;

  /// `blueprint` is the model's.  std::runtime_error where the device has no memory for one run.
  template <class SomeBlueprint>
  BlockDevice(std::unique_ptr<Model<Real>> model, const SomeBlueprint& blueprint, Launcher launcher,
              const DeviceOptions& options)
      : launcher_(std::move(launcher)),
        model_(std::move(model)),
        replay_(blueprint, launcher_, options),
        learnt_(model_->parameters() - model_->statistics().count),
        cohort_(cohort_for(options)) {}

  /// Waits for work that uses its memory: a replay that was given up may have begun some.
  ~BlockDevice() override {
    try {
      launcher_.wait();
    } catch (const std::exception&) {  // of that work, which nobody asks for any more
    }
  }

  std::size_t cohort() const override { return cohort_; }
  std::string name() const override { return launcher_.name(); }
  std::optional<double> kernel_seconds() const override { return launcher_.kernel_seconds(); }

  void start(std::span<const Tape> tapes) override {
    launcher_.wait();
    launcher_.forget();
    runs_.clear();
    runs_at_.host.clear(), recipes_.host.clear(), rules_.host.clear();
    messages_.host.clear(), tensors_.host.clear();
    tensors_.host = model_->tensors();
    std::uint32_t minibatch = 1;
    std::size_t beside = 0;  // w, in a state
    for (const Tape& tape : tapes) {
      runs_.push_back({.lowering = replay_.lowering(tape),
                       .rate_factors = RateFactors(tape),
                       .compresses = compresses(tape),
                       .wants_norms = tape.wants_norms,
                       .wants_bytes = tape.wants_bytes,
                       .wants_bytes_back = tape.wants_bytes_back});
      const StateLayout& layout = add_run(tape).layout;
      beside = std::max<std::size_t>(beside, layout.numbers - layout.beside);
      for (const Recipe& recipe : tape.recipes) minibatch = std::max(minibatch, recipe.minibatch);
    }
    runs_at_.send(launcher_), recipes_.send(launcher_), rules_.send(launcher_);
    messages_.send(launcher_), tensors_.send(launcher_);
    const auto makes_factors = [](const auto& message) { return message.code.work > 0; };
    if (ziggurat_.host.empty() && std::ranges::any_of(messages_.host, makes_factors))
      ziggurat_.host.push_back(ziggurat()), ziggurat_.send(launcher_);
    replay_.start(launcher_, tapes,
                  {runs_.size(), parameters(), beside, minibatch, model_->statistics().decay});
    values_.start(launcher_, runs_.size(), kernels::in_fours(parameters()) + beside);
    for (std::size_t i = 0; i < tapes.size(); ++i) initialise(tapes[i], i);
  }

  /// Waits for the device where a run cannot go on without what it finds; else the next wave is
  /// lowered meanwhile.

  void replay(std::span<const Segment* const> wave, std::span<Results> results) override {
    GRADRACE_CHECK(wave.size() == runs_.size() && results.size() == runs_.size(),
                   "a wave has one segment for each run of the cohort");
    lower(wave);
    send();
    for (std::size_t stage = 0; stage < stages_; ++stage) launch(stage);
    if (wants_answers(wave)) {
      fetch(wave);
      launcher_.wait();
    }
    answer(wave, results);
  }

  std::vector<double> parameters(std::size_t run) override {
    fetch_live([&](std::size_t i) { return i == run; });
    launcher_.wait();
    return {finals_.begin(), finals_.end()};
  }

 private:
  using Ticket = typename BlockEvaluation<Real, Launcher>::Ticket;
  using Measured = typename WholeStates<Real, Launcher>::Measured;

  struct RunOnHost {
    Lowering lowering;
    RateFactors rate_factors;
    bool compresses = false, wants_norms = false, wants_bytes = false, wants_bytes_back = false;
    MeanSinceEvaluation compression_error = {};
    const Program* program = nullptr;  // of the wave; null: the run is over
    std::vector<Ticket> answers = {};  // of its evaluations
    std::vector<Measured> measured = {};
  };

  // ---- a cohort

  std::size_t parameters() const { return model_->parameters(); }

  /// Numbers of a state with all parts that a rule needs.
  std::uint64_t state_numbers(const DeviceOptions& options) const {
    std::uint64_t numbers = parameters();
    for (const Rule& rule : options.rules)
      numbers =
          std::max(numbers, layout_of({&rule, 1}, parameters(), model_->statistics()).numbers);
    return numbers;
  }

  /// How many runs fit into nine tenths of the memory; the rest is for lists.  A run has a state
  /// for each learner's gradient, one more where states are averaged, two where messages are made,
  /// with a memory, and for each evaluation that waits, the two of an update, and a page that is
  /// not full; beside them what its replay needs. Where more gradients wait (K > P) memory may run
  /// out during the run; the error says so.
  std::size_t cohort_for(const DeviceOptions& options) const {
    const std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (parameters() > most / 4 || replay_.numbers_of_a_gradient(options) > most)
      throw std::runtime_error(launcher_.name() + ": the model or its minibatch is too large: " +
                               std::to_string(parameters()) + " parameters, " +
                               std::to_string(options.minibatch) + " samples");
    const std::uint64_t state = state_numbers(options);
    const std::uint64_t learners =
        std::uint64_t{options.learners} * (1u + options.averages + 2u * options.messages);
    const std::uint64_t states = learners + Lowering::most_at_once + 2 + Values::page_slots;
    const std::uint64_t run =
        states * state * sizeof(Real) + replay_.run_bytes(options, state - parameters());
    const std::uint64_t shared = replay_.shared_bytes(options);
    const std::uint64_t free = launcher_.free_memory() / options.devices / 10 * 9;
    if (free < shared + run)
      throw std::runtime_error(launcher_.name() + ": a run with " +
                               std::to_string(options.learners) + " learners needs up to " +
                               std::to_string((shared + run) >> 20) +
                               " MiB of memory, and each of " + std::to_string(options.devices) +
                               " jobs may have " + std::to_string(free >> 20) + " MiB; see --jobs");
    return std::clamp<std::uint64_t>((free - shared) / run, 1, most_runs);
  }

  static constexpr std::size_t most_runs = 4096;

  const kernels::RunAt& add_run(const Tape& tape) {
    runs_at_.host.push_back({.seed = tape.seed,
                             .replica = tape.replica,
                             .first_recipe = static_cast<std::uint32_t>(recipes_.host.size()),
                             .first_rule = static_cast<std::uint32_t>(rules_.host.size()),
                             .first_message = static_cast<std::uint32_t>(messages_.host.size()),
                             .layout = layout_of(tape.rules, parameters(), model_->statistics())});
    recipes_.host.insert(recipes_.host.end(), tape.recipes.begin(), tape.recipes.end());
    for (const Message& message : tape.messages)
      messages_.host.push_back(kernel_message(message, learnt_));
    kernels::RunAt& run = runs_at_.host.back();
    if (const std::size_t kept = kept_back(tape.rules, parameters()); kept > 0)
      run.kept_back = run.layout.numbers - kept;
    if (std::ranges::any_of(tape.rules,
                            [](const Rule& rule) { return rule.back && rule.back->memory; }))
      run.memory_back =
          run.layout.numbers - kernels::in_fours(std::uint64_t{run.layout.parameters});
    if (const std::size_t kept = kept_of_models(tape.rules, tape.messages); kept > 0)
      run.carried = std::exchange(run.layout.numbers, run.layout.numbers + kept);
    for (const Rule& rule : tape.rules) {
      rules_.host.push_back({optimiser_of(rule), rule.ema, rule.distance});
      if (!rule.back) continue;
      rules_.host.back().back = static_cast<std::uint32_t>(messages_.host.size());
      messages_.host.push_back(kernel_message(*rule.back, learnt_));
    }
    return run;
  }

  void initialise(const Tape& tape, std::size_t number) {
    const StateLayout& layout = runs_at_.host[number].layout;
    initial_.assign(layout.numbers, 0);
    model_->initialise(tape.seed, tape.replica, std::span(initial_).first(parameters()));
    complete<Real>(tape.rules, layout, initial_);
    launcher_.copy_in(initial_.data(), initial_.size(), values_.place(number, 0));
  }

  // ---- a wave

  void lower(std::span<const Segment* const> wave) {
    replay_.clear(), states_.clear(), evaluation_.clear();
    stages_ = 0;
    for (std::uint32_t i = 0; i < wave.size(); ++i) {
      RunOnHost& run = runs_[i];
      run.program = wave[i] ? &run.lowering.lower(*wave[i]) : nullptr;
      run.answers.clear(), run.measured.clear();
      if (!run.program) continue;
      of_run_.split(*run.program);
      stages_ = std::max(stages_, of_run_.count());
      replay_.add(i, recipes_of(i), *run.program, of_run_, run.lowering);
      states_.add(i, *run.program, of_run_, run.measured);
      add_evaluations(i);
    }
  }

  std::span<const Recipe> recipes_of(std::size_t run) const {
    return std::span<const Recipe>(recipes_.host).subspan(runs_at_.host[run].first_recipe);
  }

  void add_evaluations(std::uint32_t number) {
    RunOnHost& run = runs_[number];
    for (std::size_t stage = 0; stage < of_run_.count(); ++stage) {
      const Step* const step = of_run_.evaluates(stage);
      if (!step) continue;
      for (std::uint32_t i = step->first; i < step->first + step->count; ++i)
        run.answers.push_back(evaluation_.add(stage, number, run.program->evaluated[i].at));
    }
  }

  void send() {
    Slot slots = 0;
    for (const RunOnHost& run : runs_) slots = std::max(slots, run.lowering.slots());
    values_.grow(launcher_, slots);
    replay_.send(launcher_, factors_wanted());
    states_.send(launcher_);
    evaluation_.send(launcher_);
  }

  bool factors_wanted() const {
    return std::ranges::any_of(runs_, [](const auto& run) { return run.rate_factors.wanted(); });
  }

  void launch(std::size_t stage) {
    const kernels::Cohort<Real> cohort{values_.view(parameters(), learnt_),
                                       runs_at_.data(),
                                       recipes_.data(),
                                       rules_.data(),
                                       messages_.data(),
                                       tensors_.data(),
                                       ziggurat_.data()};
    replay_.launch(launcher_, stage, cohort);
    states_.launch(launcher_, stage, cohort);
    replay_.evaluate(launcher_, stage, cohort, evaluation_);
  }

  /// Whether a run of the wave cannot go on without what the device finds.
  bool wants_answers(std::span<const Segment* const> wave) const {
    for (std::size_t i = 0; i < wave.size(); ++i)
      if (wave[i] && (wave[i]->end != End::limit || !runs_[i].answers.empty() ||
                      !wave[i]->sent.empty() || !wave[i]->models.empty() ||
                      (runs_[i].compresses && replay_.messages().are_of_means(i)) ||
                      runs_[i].wants_bytes_back))
        return true;
    return factors_wanted();
  }

  void fetch(std::span<const Segment* const> wave) {
    evaluation_.fetch(launcher_);
    states_.fetch(launcher_);
    replay_.fetch(launcher_);
    fetch_live([&](std::size_t i) { return wave[i] && wave[i]->end != End::limit; });
  }

  /// The parameters of the live values of the runs wanted.
  template <class Wanted>
  void fetch_live(Wanted wanted) {
    std::vector<const Real*> values;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!wanted(i)) continue;
      for (const Slot slot : runs_[i].lowering.live()) values.push_back(values_.place(i, slot));
    }
    finals_.resize(values.size() * parameters());
    Real* to = finals_.data();
    for (const Real* const from : values) {
      launcher_.copy_out(from, parameters(), to);
      to += parameters();
    }
  }

  void answer(std::span<const Segment* const> wave, std::span<Results> results) {
    std::span<const Real> finals(finals_);
    for (std::size_t i = 0; i < wave.size(); ++i) {
      if (!wave[i]) continue;
      RunOnHost& run = runs_[i];
      Results& result = results[i] = {};
      result.gradients_computed = run.program->computed;
      for (const Ticket& ticket : run.answers)
        result.evaluations.push_back(replay_.evaluation(evaluation_.sums(ticket)));
      for (const Measured& measured : run.measured)
        result.evaluations[measured.evaluated].disagreement = states_.disagreement(measured);
      if (run.rate_factors.wanted())
        run.rate_factors.add(*run.program, replay_.factors(i, *run.program), result);
      const auto tell = [&](std::size_t e, double mean) {
        result.evaluations[e].compression_error = mean;
      };
      const auto& messages = replay_.messages();
      if (run.compresses && messages.are_of_means(i))
        run.compression_error.add(*run.program, messages.errors_of_uses(i, *run.program),
                                  &SlotEvaluation::uses, tell);
      else if (run.compresses)
        run.compression_error.add(*run.program, messages.errors(i, *run.program),
                                  &SlotEvaluation::sent, tell);
      if (run.wants_bytes) {
        const auto bytes = messages.bytes(i, *run.program);
        result.bytes.assign(bytes.begin(), bytes.end());
      }
      if (run.wants_bytes_back) result.bytes_back = messages.bytes_back(i);
      if (run.wants_norms) result.norms = replay_.messages().norms(i);
      if (wave[i]->end == End::limit) continue;
      const std::size_t live = run.lowering.live().size() * parameters();
      Hash hash;
      add_bits(hash, finals.first(live));
      result.hash = hash.value();
      finals = finals.subspan(live);
    }
  }

  using Values = kernels::Values<Real>;

  Launcher launcher_;
  std::unique_ptr<Model<Real>> model_;
  Replay replay_;
  std::size_t learnt_;  // of the parameters
  std::size_t cohort_;

  std::vector<RunOnHost> runs_;
  Mirror<kernels::RunAt, Launcher> runs_at_;
  Mirror<Recipe, Launcher> recipes_;
  Mirror<kernels::KernelRule, Launcher> rules_;
  Mirror<kernels::KernelMessage, Launcher> messages_;
  Mirror<Tensor, Launcher> tensors_;
  Mirror<kernels::Ziggurat, Launcher> ziggurat_;  // where it is wanted
  ValuePages<Real, Launcher> values_;
  std::vector<Real> initial_;

  Stages of_run_;           // of the run that is lowered
  std::size_t stages_ = 0;  // of the wave, at most
  WholeStates<Real, Launcher> states_;
  BlockEvaluation<Real, Launcher> evaluation_;
  std::vector<Real> finals_;  // live parameters of the runs whose segment is not cut by a limit
};

/// The device of that model with those blocks.
template <class Real, class Launcher>
std::unique_ptr<Device> make_block_device(std::unique_ptr<Model<Real>> model, Launcher launcher,
                                          const DeviceOptions& options) {
  const Blueprint blueprint = model->blueprint();
  if (const auto* none = std::get_if<NoBlueprint>(&blueprint))
    throw std::runtime_error(launcher.name() + ": only the CPU computes this model" +
                             (none->reason.empty() ? "" : ": " + std::string(none->reason)) +
                             "; use --device cpu");
  if (const auto* network = std::get_if<NetworkBlueprint>(&blueprint))
    return std::make_unique<BlockDevice<NetworkReplay<Real, Launcher>, Launcher>>(
        std::move(model), *network, std::move(launcher), options);
  return std::make_unique<BlockDevice<QuadraticReplay<Real, Launcher>, Launcher>>(
      std::move(model), std::get<QuadraticBlueprint>(blueprint), std::move(launcher), options);
}

}  // namespace gradrace
