#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/gpu/kernels/gradient_replay.h"
#include "models/gpu/network_pass.h"
#include "models/gpu/staged.h"
#include "models/gpu/use_list.h"

namespace gradrace {

/// The updates of a network's runs by gradients that are made at values in their slots: all runs go
/// side by side, an update of each in a round, and the gradients of a round go through the network
/// together.
///
/// Memory traffic of an update with one gradient beside the pass, in numbers of Real: g is
/// written by the pass; g and the step are read and the step written; the step and the base are
/// read, the next w written and the step cleared: 8 d, for momentum and the like 2 d each.
template <class Real, class Launcher>
class GradientReplay {
 public:
  using Pass = NetworkPass<Real, Launcher>;

  void start(Launcher& launcher, std::size_t runs, std::size_t parameters, const Pass& pass) {
    uses_.start(runs);
    reserve(launcher, made_, pass.together(1) * kernels::in_fours(parameters));
    reserve(launcher, at_hand_, pass.together(1));
    reserve(launcher, steps_, runs * parameters);
    gradrace::clear(launcher, steps_.data(), steps_.size());
  }

  void clear() {
    uses_.clear(), updates_.clear(), gradients_.clear();
    for (auto& stage : rounds_) stage.clear();
    rounds_made_ = lists_ = 0;
  }

  /// run: number of the cohort's; recipes: its own.
  void add(std::uint32_t run, std::span<const Recipe> recipes, const Program& program) {
    const std::uint64_t first_use = uses_.add(run, program);
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

  /// with_factors: the distance factors of the uses will be fetched.
  void send(Launcher& launcher, bool with_factors) {
    uses_.send(launcher, with_factors), updates_.send(launcher), gradients_.send(launcher);
    reserve(launcher, weights_, uses_.size());
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Network<Real>& network,
              double statistics_decay, const kernels::Cohort<Real>& cohort, const Pass& pass) {
    if (stage >= rounds_.size()) return;
    for (const Round& round : rounds_[stage]) {
      for (const auto& [n, list] : round.gradients) {
        const auto of_round = pass.of_rows(network, n);
        for (std::uint32_t done = 0; done < gradients_.count(list); done += of_round.together) {
          const std::uint32_t count = std::min(of_round.together, gradients_.count(list) - done);
          launcher.copy_within(gradients_.data(list) + done, count, at_hand_.data());
          launcher.repeat({n, count, uses_.with_factors()},
                          [&] { add_up(launcher, pass, of_round, cohort, count); });
        }
      }
      const kernels::MoveKernel<Real> move{cohort, updates_.data(round.number), weights_.data(),
                                           steps_.data(), statistics_decay};
      launch_all(launcher, move, updates_.count(round.number) * move.blocks());
    }
  }

  void fetch(Launcher& launcher) { uses_.fetch(launcher); }

  /// The distance factors of a run's uses, after a fetch with them.
  std::span<const double> factors(std::size_t run, const Program& program) const {
    return uses_.factors(run, program);
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
    launch_all(launcher,
               kernels::GradientBeginKernel<Real>{pass, cohort, jobs, uses_.data(), made_.data()},
               count);
    if (pass.network.augments) {
      const kernels::AugmentKernel<Real> kernel{pass, cohort.runs, jobs, uses_.data()};
      launch_all(launcher, kernel, count * kernel.blocks());
    } else {
      const kernels::RowsKernel<Real> kernel{pass, pass.network.train};
      launch_all(launcher, kernel, count * kernel.blocks());
    }
    through.forward(launcher, pass, count, true);
    launch_all(launcher, kernels::DifferentiateKernel<Real>{pass}, count);
    through.backward(launcher, pass, count);
    launch_all(launcher,
               kernels::WeighKernel<Real>{cohort, jobs, uses_.data(), pass.g, weights_.data(),
                                          uses_.factors()},
               count);
    const kernels::AddKernel<Real> add{cohort.values,   jobs,   count,
                                       weights_.data(), pass.g, steps_.data()};
    launch_all(launcher, add, count * add.blocks());
  }

  Memory<Real> steps_, made_;
  Memory<kernels::GradientJob> at_hand_;
  Memory<kernels::UseWeight> weights_;

  // Of the wave.
  UseList<Launcher> uses_;
  std::vector<std::vector<Round>> rounds_;  // of each stage
  std::size_t rounds_made_ = 0, lists_ = 0;
  Staged<kernels::UpdateJob, Launcher> updates_;      // of each round
  Staged<kernels::GradientJob, Launcher> gradients_;  // of each list
};

}  // namespace gradrace
