#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/gpu/kernels/in_place_replay.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/stages.h"
#include "models/gpu/stretches.h"
#include "models/model/model.h"
#include "models/optimiser/optimiser.h"
#include "models/replay/lowering.h"

namespace gradrace {

/// The updates of runs of dense layers, of float32, whose states stay with a block while it replays
/// them.
template <class Real, class Launcher>
class InPlaceReplay {
 public:
  using Network = kernels::InPlaceNetwork;

  /// network: null where there is none; then no run may be added.
  explicit InPlaceReplay(const Network* network) : network_(network) {}

  const Network* network() const { return network_; }

  /// Whether gradients of such a run can be had from their factors alone.
  bool can_replay(const Tape& tape) const {
    return network_ != nullptr && !compresses(tape) &&
           std::ranges::all_of(tape.recipes, [](const auto& recipe) { return recipe.clip == 0; }) &&
           std::ranges::all_of(tape.rules, [](const auto& rule) { return rule.distance == 0; });
  }

  static Lowering lowering() { return Lowering(Order::for_a_use); }

  /// Of one run: the gradients that wait for their updates, and the state at hand.
  std::uint64_t run_bytes(const DeviceOptions& options, std::uint64_t beside) const {
    if (network_ == nullptr) return 0;
    const std::uint64_t row = network_->per_row * sizeof(Real) + sizeof(std::uint32_t);
    const std::uint64_t waiting = std::uint64_t{options.learners} * options.minibatch * row;
    // reserve() takes half as much again.
    return waiting * 3 / 2 + work_stride(options.minibatch, beside == 0) * sizeof(Real);
  }

  void start(Launcher& launcher, std::span<const Tape> tapes, const ReplayShape& shape) {
    if (network_ == nullptr) return;
    plain_.clear(), recipes_.clear();
    for (const Tape& tape : tapes) {
      plain_.push_back(layout_of(tape.rules, shape.parameters, {}).only_w());
      recipes_.push_back(tape.recipes);
    }
    workers_ = static_cast<std::uint32_t>(std::min(shape.runs, launcher.blocks()));
    minibatch_ = shape.minibatch;
    work_stride_ = work_stride(minibatch_, shape.beside == 0);
    reserve(launcher, work_, workers_ * work_stride_);
  }

  void clear() {
    uses_.host.clear(), changes_.host.clear();
    for (auto& stretches : stretches_) stretches.clear();
  }

  /// places: Lowering::places().
  void add(std::uint32_t run, const Program& program, const Stages& stages, std::uint32_t places) {
    Stretches<Launcher>& stretches = stretches_[plain_[run]];
    auto& changes = changes_.host;
    stretches.start(run, uses_.host.size(), changes.size());
    for (std::size_t stage = 0; stage < stages.count(); ++stage) {
      const std::size_t first = changes.size();
      for (const Step* const step : stages.moves(stage)) {
        if (step->kind == Step::Kind::update) {
          changes.push_back(update(run, program, *step));
          continue;
        }
        if (changes.size() == first || !is_at_hand(changes.back(), step->base))
          changes.emplace_back().base = step->base;
        compute(run, program.uses[step->first], changes.back());
      }
      stretches.end_stage(changes.size());
    }
    for (const SlotUse& use : program.uses) uses_.host.push_back(factored(run, use));
    places_ = std::max(places_, places);
  }

  void send(Launcher& launcher) {
    if (network_ == nullptr) return;
    uses_.send(launcher), changes_.send(launcher);
    for (auto& stretches : stretches_) stretches.send(launcher);
    const std::size_t gradients = plain_.size() * places_;
    reserve(launcher, rows_, gradients * minibatch_);
    reserve(launcher, factors_, gradients * minibatch_ * network_->per_row);
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    if constexpr (std::same_as<Real, float>)
      launch<false>(launcher, stage, cohort), launch<true>(launcher, stage, cohort);
  }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  kernels::FactoredUse factored(std::uint32_t run, const SlotUse& use) const {
    return {use.place, recipes_[run][use.recipe].minibatch};
  }

  kernels::InPlaceChange update(std::uint32_t run, const Program& program, const Step& step) const {
    kernels::InPlaceChange change{};
    change.base = step.base, change.out = step.out;
    change.first = step.first, change.count = step.count;
    change.rule = step.rule, change.updates = true, change.stored = step.stored;
    const auto uses = std::span(program.uses).subspan(step.first, step.count);
    for (const SlotUse& use : uses) change.rate += use.weight;
    if (!uses.empty()) change.old = factored(run, uses.front());
    return change;
  }

  /// Whether a gradient at that slot's value may join the change.
  static bool is_at_hand(const kernels::InPlaceChange& change, Slot slot) {
    return change.updates && change.fresh.n == 0 && change.out == slot;
  }

  void compute(std::uint32_t run, const SlotUse& use, kernels::InPlaceChange& change) const {
    change.fresh = factored(run, use);
    change.learner = use.learner, change.draw = use.draw;
    change.weight = static_cast<float>(use.weight);
  }

  template <bool plain>
  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    const Stretches<Launcher>& stretches = stretches_[plain];
    if (stretches.count(stage) == 0) return;
    launcher.launch(
        kernels::InPlaceReplayKernel<plain>{*network_, cohort, stretches.data(stage), uses_.data(),
                                            changes_.data(), work_.data(), work_stride_,
                                            rows_.data(), factors_.data(), places_, minibatch_},
        stretches.count(stage), workers_);
  }

  std::uint64_t work_stride(std::uint32_t minibatch, bool plain) const {
    return plain ? kernels::InPlaceReplayKernel<true>::stride_of_work(*network_, minibatch)
                 : kernels::InPlaceReplayKernel<false>::stride_of_work(*network_, minibatch);
  }

  const Network* network_;
  std::vector<bool> plain_;                   // [run]: its states are w alone
  std::vector<std::vector<Recipe>> recipes_;  // [run]
  std::uint32_t workers_ = 0, minibatch_ = 1, places_ = 0;
  std::uint64_t work_stride_ = 0;
  Memory<Real> work_, factors_;
  Memory<std::uint32_t> rows_;

  // Of the wave.
  Mirror<kernels::FactoredUse, Launcher> uses_;
  Mirror<kernels::InPlaceChange, Launcher> changes_;
  Stretches<Launcher> stretches_[2];  // of the others, of plain runs
};

}  // namespace gradrace
