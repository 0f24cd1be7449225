#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "models/gpu/block_evaluation.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/resident.h"
#include "models/gpu/stages.h"
#include "models/gpu/stretches.h"
#include "models/gpu/use_list.h"
#include "models/replay/lowering.h"

namespace gradrace {

/// A Replay of BlockDevice: a block for each run of a quadratic, whose gradients are computed when
/// they are used, at values in their slots.
template <class Real, class Launcher>
class QuadraticReplay {
 public:
  using Number = Real;

  QuadraticReplay(const QuadraticBlueprint& blueprint, Launcher& launcher, const DeviceOptions&)
      : resident_(blueprint), blocks_(static_cast<std::uint32_t>(launcher.blocks())) {}

  std::uint64_t run_bytes(const DeviceOptions&, std::uint64_t) const {
    return work_numbers() * sizeof(Real);
  }
  static std::uint64_t shared_bytes(const DeviceOptions&) { return 0; }
  static std::uint64_t numbers_of_a_gradient(const DeviceOptions&) { return 0; }

  void start(Launcher& launcher, std::span<const Tape>, const ReplayShape& shape) {
    workers_ = std::min(static_cast<std::uint32_t>(shape.runs), blocks_);
    reserve(launcher, work_, workers_ * work_numbers());
    uses_.start(shape.runs);
  }

  static Lowering lowering(const Tape&) { return Lowering(Order::late, true); }

  void clear() { uses_.clear(), updates_.host.clear(), stretches_.clear(); }

  void add(std::uint32_t run, std::span<const Recipe>, const Program& program, const Stages& stages,
           const Lowering&) {
    if (!program.sent.empty())
      throw std::runtime_error(
          "only the CPU replays compressed gradients of a quadratic; use --device cpu");
    stretches_.start(run, uses_.add(run, program), updates_.host.size());
    for (std::size_t stage = 0; stage < stages.count(); ++stage) {
      for (const Step* const step : stages.moves(stage))
        updates_.host.push_back({step->out, step->base, step->rule, step->first, step->count});
      stretches_.end_stage(updates_.host.size());
    }
  }

  void send(Launcher& launcher, bool with_factors) {
    uses_.send(launcher, with_factors), updates_.send(launcher), stretches_.send(launcher);
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
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

  void fetch(Launcher& launcher) { uses_.fetch(launcher); }

  std::span<const double> factors(std::size_t run, const Program& program) const {
    return uses_.factors(run, program);
  }
  static std::span<const double> errors(std::size_t, const Program&) { return {}; }

  Evaluation evaluation(const kernels::EvaluationSums& sums) const {
    return resident_.evaluation(sums);
  }

 private:
  /// Of a block: g and the step.
  std::uint64_t work_numbers() const { return 2 * std::uint64_t{resident_.quadratic().parameters}; }

  ResidentQuadratic<Real, Launcher> resident_;
  std::uint32_t blocks_, workers_ = 0;
  typename Launcher::template Memory<Real> work_;

  // Of the wave.
  UseList<Launcher> uses_;
  Mirror<kernels::KernelUpdate, Launcher> updates_;
  Stretches<Launcher> stretches_;
};

}  // namespace gradrace
