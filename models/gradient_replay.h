#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/kernels/gradient_replay.h"
#include "models/network_pass.h"
#include "models/staged.h"

namespace gradrace {

/// The updates of a network's runs by gradients that are made at values in their slots: all runs go
/// side by side, an update of each in a round, and the gradients of a round go through the network
/// together.
///
/// What an update with one gradient moves beside the pass, in numbers of Real, d parameters: g is
/// written by the pass; g and the step are read and the step written; the step and the base are
/// read, the next w written and the step cleared: 8 d, for momentum and the like 2 d each.
template <class Real, class Launcher>
class GradientReplay {
 public:
  using Pass = NetworkPass<Real, Launcher>;

  void start(Launcher& launcher, std::size_t runs, std::size_t parameters) {
    first_use_.assign(runs, 0);
    parameters_ = parameters;
    reserve(launcher, steps_, runs * parameters);
    const std::uint32_t blocks = kernels::chunks(steps_.size());
    launcher.launch(kernels::ClearKernel<Real>{steps_.data(), steps_.size()}, blocks, blocks);
  }

  void clear() {
    uses_.host.clear(), updates_.clear(), gradients_.clear();
    for (auto& stage : rounds_) stage.clear();
    rounds_made_ = lists_ = 0;
  }

  /// run: number of the cohort's; recipes: its own.
  void add(std::uint32_t run, std::span<const kernels::KernelRecipe> recipes,
           const Program& program) {
    const std::uint64_t first_use = first_use_[run] = uses_.host.size();
    for (const SlotUse& use : program.uses)
      uses_.host.push_back({use.at, use.learner, use.draw, use.recipe, use.weight});
    std::size_t stage = 0, number = 0;
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::evaluate) {
        ++stage, number = 0;
        continue;
      }
      Round& round = round_of(stage, number++);
      const kernels::UpdateJob update{
          run, step.out, step.base, step.rule, first_use + step.first, step.count};
      updates_.add(round.number, update);
      for (std::uint32_t u = step.first; u < step.first + step.count; ++u) {
        const std::uint32_t n = recipes[program.uses[u].recipe].minibatch;
        const auto [list, fresh] = round.gradients.try_emplace(n, lists_);
        lists_ += fresh;
        gradients_.add(list->second, {update, first_use + u});
      }
    }
  }

  /// with_factors: what a distance leaves of weights is asked for.
  void send(Launcher& launcher, bool with_factors) {
    with_factors_ = with_factors;
    uses_.send(launcher), updates_.send(launcher), gradients_.send(launcher);
    reserve(launcher, weights_, uses_.host.size());
    if (with_factors) reserve(launcher, factors_.device, uses_.host.size());
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Network<Real>& network,
              double statistics_decay, const kernels::Cohort<Real>& cohort, Pass& pass) {
    if (stage >= rounds_.size()) return;
    for (const Round& round : rounds_[stage]) {
      for (const auto& [n, list] : round.gradients) {
        const auto of_round = pass.begin(launcher, network, n);
        reserve(launcher, made_, of_round.together * parameters_);
        reserve(launcher, at_hand_, of_round.together);
        for (std::uint32_t done = 0; done < gradients_.count(list); done += of_round.together) {
          const std::uint32_t count = std::min(of_round.together, gradients_.count(list) - done);
          launcher.copy_within(gradients_.data(list) + done, count, at_hand_.data());
          launcher.repeat({n, count, with_factors_},
                          [&] { add_up(launcher, pass, of_round, cohort, count); });
        }
      }
      const kernels::MoveKernel<Real> move{cohort, updates_.data(round.number), weights_.data(),
                                           steps_.data(), statistics_decay};
      const std::uint32_t blocks = updates_.count(round.number) * move.blocks();
      launcher.launch(move, blocks, blocks);
    }
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

  struct Round {
    std::size_t number;                                   // in updates
    std::map<std::uint32_t, std::size_t> gradients = {};  // minibatch: its list
  };

  Round& round_of(std::size_t stage, std::size_t number) {
    if (rounds_.size() <= stage) rounds_.resize(stage + 1);
    if (rounds_[stage].size() <= number) rounds_[stage].push_back({rounds_made_++});
    return rounds_[stage][number];
  }

  /// Of the jobs at hand.
  void add_up(Launcher& launcher, const Pass& through, const kernels::Pass<Real>& pass,
              const kernels::Cohort<Real>& cohort, std::uint32_t count) {
    const kernels::GradientJob* const jobs = at_hand_.data();
    launcher.launch(
        kernels::GradientBeginKernel<Real>{pass, cohort, jobs, count, uses_.data(), made_.data()},
        pass.together, pass.together);
    if (pass.network.augments) {
      const kernels::AugmentKernel<Real> kernel{pass, cohort.runs, jobs, uses_.data()};
      launcher.launch(kernel, count * kernel.blocks(), count * kernel.blocks());
    } else {
      const kernels::RowsKernel<Real> kernel{pass, pass.network.train};
      launcher.launch(kernel, count * kernel.blocks(), count * kernel.blocks());
    }
    through.forward(launcher, pass, count, true);
    launcher.launch(kernels::DifferentiateKernel<Real>{pass}, count, count);
    through.backward(launcher, pass, count);
    launcher.launch(
        kernels::WeighKernel<Real>{cohort, jobs, uses_.data(), made_.data(), weights_.data(),
                                   with_factors_ ? factors_.data() : nullptr},
        count, count);
    const kernels::AddKernel<Real> add{cohort.values,   jobs,         count,
                                       weights_.data(), made_.data(), steps_.data()};
    launcher.launch(add, count * add.blocks(), count * add.blocks());
  }

  std::size_t parameters_ = 0;
  Memory<Real> steps_, made_;
  Memory<kernels::GradientJob> at_hand_;
  Memory<kernels::UseWeight> weights_;

  // Of the wave.
  std::vector<std::uint64_t> first_use_;  // [run]
  Mirror<kernels::KernelUse, Launcher> uses_;
  std::vector<std::vector<Round>> rounds_;  // of each stage
  std::size_t rounds_made_ = 0, lists_ = 0;
  Staged<kernels::UpdateJob, Launcher> updates_;      // of each round
  Staged<kernels::GradientJob, Launcher> gradients_;  // of each list
  Mirror<double, Launcher> factors_;
  bool with_factors_ = false;
};

}  // namespace gradrace
