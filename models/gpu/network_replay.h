#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/gpu/block_evaluation.h"
#include "models/gpu/gradient_replay.h"
#include "models/gpu/in_place_replay.h"
#include "models/gpu/network_evaluation.h"
#include "models/gpu/network_gradients.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/resident.h"

namespace gradrace {

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
