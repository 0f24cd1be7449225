#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/gpu/in_place.h"
#include "models/gpu/kernels/in_place_replay.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/staged.h"
#include "models/model.h"

namespace gradrace {

/// The updates of runs whose weights stay in a block's shared memory while it replays them.
template <class Real, class Launcher>
class InPlaceReplay {
 public:
  using Network = kernels::InPlaceNetwork<Real>;

  /// network: null where its weights do not fit; then no run may be added.
  explicit InPlaceReplay(const Network* network) : network_(network) {}

  const Network* network() const { return network_; }

  /// Whether gradients of such a run can be had from their factors alone.
  bool can_replay(const Tape& tape) const {
    return network_ != nullptr &&
           std::ranges::all_of(tape.recipes, [](const auto& recipe) { return recipe.clip == 0; }) &&
           std::ranges::all_of(tape.rules, [](const auto& rule) { return rule.distance == 0; });
  }

  /// Of one run: the gradients that wait for their updates, and what a state has beside w.
  std::uint64_t run_bytes(const DeviceOptions& options, std::uint64_t beside) const {
    if (network_ == nullptr) return 0;
    const std::uint64_t row = network_->per_row * sizeof(Real) + sizeof(std::uint32_t);
    const std::uint64_t waiting = std::uint64_t{options.learners} * options.minibatch * row;
    return waiting * 3 / 2 + beside * sizeof(Real);  // reserve() takes half as much again
  }

  void start(Launcher& launcher, const ReplayShape& shape) {
    runs_.assign(shape.runs, {});
    workers_ = static_cast<std::uint32_t>(std::min(shape.runs, launcher.blocks()));
    minibatch_ = shape.minibatch;
    work_stride_ = shape.beside;
    if (network_ != nullptr) reserve(launcher, work_, workers_ * work_stride_);
  }

  void clear() { uses_.host.clear(), instructions_.host.clear(), stretches_.clear(); }

  void add(std::uint32_t run, const Program& program, const Lowering& lowering) {
    const bool keep = network_->of.l2 > 0;
    const InPlaceProgram& in_place = runs_[run].lower(program, lowering, keep);
    const std::uint64_t first_use = uses_.host.size(), before = instructions_.host.size();
    for (std::size_t u = 0; u < program.uses.size(); ++u) {
      const SlotUse& use = program.uses[u];
      uses_.host.push_back(
          {in_place.places[u], in_place.at[u], use.learner, use.draw, use.recipe, use.weight});
    }
    instructions_.host.insert(instructions_.host.end(), in_place.instructions.begin(),
                              in_place.instructions.end());
    for (std::size_t stage = 0; stage < in_place.stages.size(); ++stage) {
      const std::size_t first = in_place.stages[stage];
      const std::size_t last = stage + 1 < in_place.stages.size() ? in_place.stages[stage + 1]
                                                                  : in_place.instructions.size();
      if (first < last) stretches_.add(stage, {run, first_use, before + first, last - first});
    }
    places_ = std::max(places_, runs_[run].places());
  }

  void send(Launcher& launcher) {
    if (network_ == nullptr) return;
    uses_.send(launcher), instructions_.send(launcher), stretches_.send(launcher);
    const std::size_t gradients = runs_.size() * places_;
    reserve(launcher, rows_, gradients * minibatch_);
    reserve(launcher, factors_, gradients * minibatch_ * network_->per_row);
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    if (stretches_.count(stage) == 0) return;
    launcher.launch(
        kernels::InPlaceReplayKernel<Real>{*network_, cohort, stretches_.data(stage), uses_.data(),
                                           instructions_.data(), work_.data(), work_stride_,
                                           rows_.data(), factors_.data(), places_, minibatch_},
        stretches_.count(stage), workers_);
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  const Network* network_;
  std::vector<InPlace> runs_;
  std::uint32_t workers_ = 0, minibatch_ = 1, places_ = 0;
  std::uint64_t work_stride_ = 0;
  Memory<Real> work_, factors_;
  Memory<std::uint32_t> rows_;

  // Of the wave.
  Mirror<kernels::FactoredUse, Launcher> uses_;
  Mirror<Instruction, Launcher> instructions_;
  Staged<kernels::Stretch, Launcher> stretches_;
};

}  // namespace gradrace
