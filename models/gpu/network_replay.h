#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/gpu/block_evaluation.h"
#include "models/gpu/gradient_replay.h"
#include "models/gpu/in_place_replay.h"
#include "models/gpu/kernels/network_evaluation.h"
#include "models/gpu/network_pass.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/resident.h"

namespace gradrace {

/// The gradients of a network, of which many go through it together.
template <class Real, class Launcher>
struct NetworkGradients {
  const NetworkPass<Real, Launcher>& through;
  const kernels::Network<Real>& network;

  kernels::Pass<Real> pass(std::uint32_t n, bool moves) const {
    return through.of_rows(network, network.train, n, moves);
  }
  std::uint32_t together(std::uint32_t n) const { return pass(n, false).together; }
  Real* const* gradients() const { return pass(1, false).g; }
  kernels::NumberRange moved() const { return through.moved(); }

  void make(Launcher& launcher, std::uint32_t n, bool moves, const JobsAtHand<Real>& of) const {
    const kernels::Pass<Real> by = pass(n, moves);
    launch_all(launcher,
               kernels::GradientBeginKernel<Real>{by, of.cohort, of.jobs, of.uses, of.made,
                                                  of.weights, of.factors},
               of.count);
    if (network.augments) {
      const kernels::AugmentKernel<Real> kernel{by, of.cohort.runs, of.jobs, of.uses};
      launch_all(launcher, kernel, of.count * kernel.blocks());
    } else {
      through.read_rows(launcher, by, of.count);
    }
    through.forward(launcher, by, of.count, true);
    launch_all(launcher, kernels::DifferentiateKernel<Real>{by}, of.count);
    through.backward(launcher, by, of.count);
  }
};

/// The parts [count, network.parts()] of the evaluations of those values: parts of the rows go
/// through the network together, for all values.
template <class Real, class Launcher>
void evaluate_by_pass(Launcher& launcher, const kernels::Network<Real>& network,
                      const kernels::Cohort<Real>& cohort, const kernels::Evaluated* evaluated,
                      std::uint32_t count, kernels::EvaluationPart* parts,
                      const NetworkPass<Real, Launcher>& through) {
  const auto some = [&](const kernels::Split& split, const kernels::EvaluationJobs& jobs,
                        std::uint32_t all, std::uint32_t n) {
    if (all == 0) return;
    const auto pass = through.of_rows(network, split, n);
    for (std::uint32_t done = 0; done < all; done += pass.together) {
      const std::uint32_t at_once = std::min(pass.together, all - done);
      const kernels::EvaluationPass<Real> of_jobs{pass, jobs, done};
      launch_all(launcher, kernels::EvaluationBeginKernel<Real>{of_jobs, cohort}, at_once);
      through.read_rows(launcher, pass, at_once);
      through.forward(launcher, pass, at_once, false);
      launch_all(launcher, kernels::EvaluationLossKernel<Real>{of_jobs, parts}, at_once);
    }
  };
  const auto all = [&](const kernels::Split& split, const kernels::RowList& list,
                       std::uint32_t first_part) {
    const std::uint32_t full = list.count / kernels::RowList::together;
    const std::uint32_t rest = list.count % kernels::RowList::together;
    some(split, {evaluated, count, list, 0, first_part}, full * count, kernels::RowList::together);
    some(split, {evaluated, count, list, full, first_part + full}, rest > 0 ? count : 0, rest);
  };
  launch_all(launcher, kernels::EvaluationParametersKernel<Real>{network, cohort, evaluated, parts},
             count);
  all(network.train, network.train_rows, 0);
  all(network.test, network.test_rows, network.train_rows.parts());
}

/// A Replay of BlockDevice for networks of layers.  Runs of dense layers in float32 are replayed in
/// place, unless a regulariser, a gradient's norm or a distance is asked for; all others by
/// gradients.
template <class Real, class Launcher>
class NetworkReplay {
 public:
  using Number = Real;

  NetworkReplay(const NetworkBlueprint& blueprint, Launcher& launcher, const DeviceOptions&)
      : resident_(blueprint, launcher.shared_memory()), in_place_(resident_.in_place()) {
    pass_.start(resident_.layers(), resident_.per_row(), resident_.network());
  }

  /// Of one run, beside its values, whose states have `beside` numbers beside w.
  std::uint64_t run_bytes(const DeviceOptions& options, std::uint64_t beside) const {
    return resident_.network().parameters * sizeof(Real) + in_place_.run_bytes(options, beside);
  }

  /// Of all together.
  std::uint64_t shared_bytes(const DeviceOptions& options) const {
    const std::uint64_t d = resident_.network().parameters;
    return pass_.bytes(most_rows(options.minibatch)) +
           pass_.together(1) * kernels::in_fours(d) * sizeof(Real);
  }

  std::uint64_t numbers_of_a_gradient(const DeviceOptions& options) const {
    return pass_.numbers(options.minibatch);
  }

  void start(Launcher& launcher, std::span<const Tape> tapes, const ReplayShape& shape) {
    statistics_decay_ = shape.statistics_decay;
    runs_in_place_.clear();
    for (const Tape& tape : tapes) runs_in_place_.push_back(in_place_.can_replay(tape));
    const bool by_gradients = std::ranges::find(runs_in_place_, false) != runs_in_place_.end();
    if (by_gradients) gradients_.start(launcher, tapes, shape.parameters, pass_.together(1));
    pass_.make_room(launcher, most_rows(by_gradients ? shape.minibatch : 1));
    in_place_.start(launcher, tapes, shape);
  }

  Lowering lowering(const Tape& tape) const {
    return in_place_.can_replay(tape) ? in_place_.lowering() : Lowering(Order::late, true);
  }

  void clear() { in_place_.clear(), gradients_.clear(); }

  void add(std::uint32_t number, std::span<const Recipe> recipes, const Program& program,
           const Stages& stages, const Lowering& lowering) {
    if (runs_in_place_[number])
      in_place_.add(number, program, stages, lowering.places());
    else
      gradients_.add(number, recipes, program, stages, lowering.places());
  }

  void send(Launcher& launcher, bool with_factors) {
    gradients_.send(launcher, with_factors), in_place_.send(launcher);
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    gradients_.launch(launcher, stage, statistics_decay_, cohort,
                      NetworkGradients<Real, Launcher>{pass_, resident_.network()});
    in_place_.launch(launcher, stage, cohort);
  }

  void evaluate(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort,
                BlockEvaluation<Real, Launcher>& evaluation) {
    evaluation.launch(launcher, stage, resident_.network(),
                      [&](const kernels::Evaluated* evaluated, std::uint32_t count,
                          kernels::EvaluationPart* parts) {
                        evaluate_by_pass(launcher, resident_.network(), cohort, evaluated, count,
                                         parts, pass_);
                      });
  }

  void fetch(Launcher& launcher) { gradients_.fetch(launcher); }

  std::span<const double> factors(std::size_t run, const Program& program) const {
    return gradients_.factors(run, program);
  }
  const Messages<Real, Launcher>& messages() const { return gradients_.messages(); }

  Evaluation evaluation(const kernels::EvaluationSums& sums) const {
    return resident_.evaluation(sums);
  }

 private:
  /// Of a pass, whether it is of minibatches or of an evaluation.
  static std::uint32_t most_rows(std::uint32_t minibatch) {
    return std::max(minibatch, kernels::RowList::together);
  }

  ResidentNetwork<Real, Launcher> resident_;
  InPlaceReplay<Real, Launcher> in_place_;

  double statistics_decay_ = 0;
  std::vector<bool> runs_in_place_;  // [run]
  NetworkPass<Real, Launcher> pass_;
  GradientReplay<Real, Launcher> gradients_;
};

}  // namespace gradrace
