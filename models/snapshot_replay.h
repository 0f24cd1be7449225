#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/lowering.h"
#include "models/staged.h"

namespace gradrace {

/// The updates of runs whose values stay in their slots as long as a gradient may be computed
/// there.
template <class Model, class Launcher>
class SnapshotReplay {
 public:
  using Real = typename Model::Number;

  /// Numbers that a block needs for a run: g, step and the model's.
  static std::uint64_t work_of(const Model& model, std::uint64_t parameters,
                               std::uint32_t minibatch) {
    return 2 * parameters + model.work(minibatch);
  }

  void start(Launcher& launcher, const Model& model, std::size_t parameters, std::size_t runs,
             std::uint32_t minibatch) {
    workers_ = static_cast<std::uint32_t>(std::min(runs, launcher.blocks()));
    work_stride_ = work_of(model, parameters, minibatch);
    rows_stride_ = Model::work_rows(minibatch);
    reserve(launcher, work_, workers_ * work_stride_);
    reserve(launcher, rows_, std::size_t{workers_} * rows_stride_);
    first_use_.assign(runs, 0);
  }

  void clear() { uses_.host.clear(), updates_.host.clear(), stretches_.clear(); }

  void add(std::uint32_t run, const Program& program) {
    const std::uint64_t first_use = first_use_[run] = uses_.host.size();
    for (const SlotUse& use : program.uses)
      uses_.host.push_back({use.at, use.learner, use.draw, use.recipe, use.weight});
    std::size_t stage = 0;
    std::uint64_t first = updates_.host.size();
    const auto end_stage = [&] {
      const std::uint64_t count = updates_.host.size() - first;
      if (count > 0) stretches_.add(stage, {run, first_use, first, count});
      first += count;
      ++stage;
    };
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::evaluate)
        end_stage();
      else
        updates_.host.push_back({step.out, step.base, step.rule, step.first, step.count});
    }
    end_stage();
  }

  /// with_factors: what a distance leaves of weights is asked for.
  void send(Launcher& launcher, bool with_factors) {
    with_factors_ = with_factors;
    uses_.send(launcher), updates_.send(launcher), stretches_.send(launcher);
    if (with_factors) reserve(launcher, factors_.device, uses_.host.size());
  }

  void launch(Launcher& launcher, std::size_t stage, const Model& model, double statistics_decay,
              const kernels::Cohort<Real>& cohort) {
    if (stretches_.count(stage) == 0) return;
    launcher.launch(
        kernels::ReplayKernel<Model>{model, statistics_decay, cohort, stretches_.data(stage),
                                     uses_.data(), updates_.data(),
                                     with_factors_ ? factors_.data() : nullptr, work_.data(),
                                     rows_.data(), work_stride_, rows_stride_},
        stretches_.count(stage), workers_);
  }

  void fetch(Launcher& launcher) {
    if (with_factors_) factors_.fetch(launcher, uses_.host.size());
  }

  /// What the distances left of the weights of a run's uses, after a fetch with them.
  std::span<const double> factors(std::size_t run, const Program& program) const {
    return std::span<const double>(factors_.host).subspan(first_use_[run], program.uses.size());
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  std::uint32_t workers_ = 0, rows_stride_ = 0;
  std::uint64_t work_stride_ = 0;
  Memory<Real> work_;
  Memory<std::uint32_t> rows_;

  // Of the wave.
  std::vector<std::uint64_t> first_use_;  // [run]
  Mirror<kernels::KernelUse, Launcher> uses_;
  Mirror<kernels::KernelUpdate, Launcher> updates_;
  Staged<kernels::Stretch, Launcher> stretches_;
  Mirror<double, Launcher> factors_;
  bool with_factors_ = false;
};

}  // namespace gradrace
