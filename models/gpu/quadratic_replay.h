#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/gpu/block_evaluation.h"
#include "models/gpu/gradient_replay.h"
#include "models/gpu/kernels/quadratic.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/resident.h"
#include "models/gpu/stages.h"
#include "models/gpu/stretches.h"
#include "models/gpu/use_list.h"
#include "models/replay/lowering.h"

namespace gradrace {

/// The gradients of a quadratic, a block for each.
template <class Real, class Launcher>
class QuadraticGradients {
 public:
  explicit QuadraticGradients(const kernels::Quadratic<Real>& quadratic) : quadratic_(quadratic) {}

  void make_room(Launcher& launcher) { reserve(launcher, gradients_, together(1)); }

  std::uint32_t together(std::uint32_t) const {
    const std::uint64_t bytes = std::uint64_t{quadratic_.parameters} * sizeof(Real);
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(Launcher::pass_bytes / bytes, 1, 1024));
  }
  Real* const* gradients() const { return gradients_.data(); }
  static kernels::NumberRange moved() { return {}; }

  void make(Launcher& launcher, std::uint32_t, bool moves, const JobsAtHand<Real>& of) const {
    launch_all(launcher,
               kernels::GradientKernel<kernels::Quadratic<Real>>{
                   quadratic_, of.cohort, of.jobs, of.uses, of.made, gradients_.data(),
                   moves ? of.weights : nullptr, of.factors},
               of.count);
  }

 private:
  const kernels::Quadratic<Real>& quadratic_;
  typename Launcher::template Memory<Real*> gradients_;
};

/// A Replay of BlockDevice: a block for each run of a quadratic, whose gradients are computed when
/// they are used, at values in their slots; runs that make messages go by gradients.
template <class Real, class Launcher>
class QuadraticReplay {
 public:
  using Number = Real;

  QuadraticReplay(const QuadraticBlueprint& blueprint, Launcher& launcher, const DeviceOptions&)
      : resident_(blueprint),
        source_(resident_.quadratic()),
        blocks_(static_cast<std::uint32_t>(launcher.blocks())) {}

  std::uint64_t run_bytes(const DeviceOptions&, std::uint64_t) const {
    return work_numbers() * sizeof(Real);
  }
  std::uint64_t shared_bytes(const DeviceOptions& options) const {
    return options.messages ? made_numbers() * sizeof(Real) : 0;
  }
  static std::uint64_t numbers_of_a_gradient(const DeviceOptions&) { return 0; }

  void start(Launcher& launcher, std::span<const Tape> tapes, const ReplayShape& shape) {
    workers_ = std::min(static_cast<std::uint32_t>(shape.runs), blocks_);
    reserve(launcher, work_, workers_ * work_numbers());
    uses_.start(shape.runs);
    by_gradients_.clear();
    for (const Tape& tape : tapes) by_gradients_.push_back(compresses(tape));
    if (std::ranges::find(by_gradients_, true) == by_gradients_.end()) return;
    source_.make_room(launcher);
    gradients_.start(launcher, tapes, shape.parameters, source_.together(1));
  }

  static Lowering lowering(const Tape&) { return Lowering(Order::late, true); }

  void clear() {
    uses_.clear(), updates_.host.clear(), stretches_.clear();
    gradients_.clear();
  }

  void add(std::uint32_t run, std::span<const Recipe> recipes, const Program& program,
           const Stages& stages, const Lowering& lowering) {
    if (by_gradients_[run]) return gradients_.add(run, recipes, program, stages, lowering.places());
    stretches_.start(run, uses_.add(run, program), updates_.host.size());
    for (std::size_t stage = 0; stage < stages.count(); ++stage) {
      for (const Step* const step : stages.moves(stage))
        updates_.host.push_back({step->out, step->base, step->rule, step->first, step->count});
      stretches_.end_stage(updates_.host.size());
    }
  }

  void send(Launcher& launcher, bool with_factors) {
    uses_.send(launcher, with_factors), updates_.send(launcher), stretches_.send(launcher);
    gradients_.send(launcher, with_factors);
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    gradients_.launch(launcher, stage, 0, cohort, source_);
    if (stretches_.count(stage) == 0) return;
    launcher.launch(
        kernels::ReplayKernel<kernels::Quadratic<Real>>{
            resident_.quadratic(), cohort, stretches_.data(stage), uses_.data(), updates_.data(),
            uses_.factors(), work_.data(), work_numbers()},
        stretches_.count(stage), workers_);
  }

  void evaluate(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort,
                BlockEvaluation<Real, Launcher>& evaluation) {
    evaluation.launch(launcher, stage, resident_.quadratic(), cohort, blocks_);
  }

  void fetch(Launcher& launcher) { uses_.fetch(launcher), gradients_.fetch(launcher); }

  std::span<const double> factors(std::size_t run, const Program& program) const {
    return by_gradients_[run] ? gradients_.factors(run, program) : uses_.factors(run, program);
  }
  const Messages<Real, Launcher>& messages() const { return gradients_.messages(); }

  Evaluation evaluation(const kernels::EvaluationSums& sums) const {
    return resident_.evaluation(sums);
  }

 private:
  /// Of a block: g and the step.
  std::uint64_t work_numbers() const { return 2 * std::uint64_t{resident_.quadratic().parameters}; }

  /// Of gradients that are made together.
  std::uint64_t made_numbers() const {
    return source_.together(1) * kernels::in_fours(std::uint64_t{resident_.quadratic().parameters});
  }

  ResidentQuadratic<Real, Launcher> resident_;
  QuadraticGradients<Real, Launcher> source_;
  std::uint32_t blocks_, workers_ = 0;
  std::vector<bool> by_gradients_;  // [run]
  typename Launcher::template Memory<Real> work_;

  // Of the wave.
  UseList<Launcher> uses_;
  Mirror<kernels::KernelUpdate, Launcher> updates_;
  Stretches<Launcher> stretches_;
  GradientReplay<Real, Launcher> gradients_;  // of runs by_gradients_
};

}  // namespace gradrace
