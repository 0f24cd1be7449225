#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/gpu/block_evaluation.h"
#include "models/gpu/gradient_replay.h"
#include "models/gpu/in_place_replay.h"
#include "models/gpu/network_evaluation.h"
#include "models/gpu/replay_shape.h"
#include "models/gpu/resident.h"
#include "models/gpu/wave_replay.h"

namespace gradrace {

/// A Replay of BlockDevice for networks of layers, which knows three ways to replay a run.
///
/// Dense layers whose gradients can be had from their factors: in place, where the weights fit into
/// a block's memory; in waves of products, where they do not and there is no regulariser.  All
/// others: by gradients.
template <class Real, class Launcher>
class NetworkReplay {
 public:
  using Number = Real;

  NetworkReplay(const NetworkBlueprint& blueprint, Launcher& launcher, const DeviceOptions& options)
      : resident_(blueprint),
        in_place_network_(resident_.in_place(launcher.shared_memory())),
        wave_network_(!in_place_network_ && blueprint.l2 == 0 ? resident_.dense() : nullptr),
        evaluators_(evaluators_for(launcher, options)) {
    pass_.start(resident_.layers(), resident_.per_row(), resident_.network().train.features);
    if (options.products != Products::float32 && in_place_network_)
      throw std::runtime_error(launcher.name() +
                               ": precision tf32 and bf16 are of networks that are too large for "
                               "a block's memory; use float32");
    launcher.multiply_with(options.products);
  }

  /// Of one run, beside its values.
  std::uint64_t run_bytes(const DeviceOptions& options) const {
    const std::uint64_t d = resident_.network().parameters;
    std::uint64_t bytes = d * sizeof(Real);
    if (in_place_network_)
      bytes += options.learners * InPlaceRuns::place_bytes(*in_place_network_, options.minibatch) +
               3 * d * sizeof(Real);
    if (wave_network_)
      bytes += options.learners * Waves::place_bytes(*wave_network_, options.minibatch) +
               Waves::run_numbers(d) * sizeof(Real);
    return bytes;
  }

  /// Of all together.
  std::uint64_t shared_bytes(const DeviceOptions& options) const {
    const std::uint64_t of_blocks = in_place_network_ ? evaluators_ * evaluation_bytes() : 0;
    const std::uint64_t d = resident_.network().parameters;
    const std::uint64_t of_pass = pass_.bytes(resident_.network(), most_rows(options.minibatch)) +
                                  pass_.together(1) * kernels::in_fours(d) * sizeof(Real);
    return of_blocks + of_pass + Launcher::library_bytes;
  }

  std::uint64_t numbers_of_a_gradient(const DeviceOptions& options) const {
    return pass_.numbers(options.minibatch);
  }

  void start(Launcher& launcher, std::span<const Tape> tapes, const ReplayShape& shape) {
    statistics_decay_ = shape.statistics_decay;
    from_factors_.clear();
    for (const Tape& tape : tapes)
      from_factors_.push_back((in_place_network_ || wave_network_) &&
                              InPlaceRuns::can_replay(tape));
    const bool by_gradients = std::ranges::find(from_factors_, false) != from_factors_.end();
    if (by_gradients) gradients_.start(launcher, shape.runs, shape.parameters, pass_);
    if (by_gradients || !in_place_network_)
      pass_.make_room(launcher, resident_.network(), most_rows(by_gradients ? shape.minibatch : 1));
    if (in_place_network_)
      in_place_.start(launcher, shape.runs, shape.beside, shape.minibatch,
                      in_place_network_->of.l2 > 0);
    if (wave_network_)
      waves_.start(launcher, resident_.dense_layers(), shape.runs, shape.parameters, shape.beside,
                   shape.minibatch);
  }

  void clear() { in_place_.clear(), waves_.clear(), gradients_.clear(); }

  void add(std::uint32_t number, const kernels::RunAt& run,
           std::span<const kernels::KernelRecipe> recipes, const Program& program,
           const Lowering& lowering) {
    if (!from_factors_[number])
      gradients_.add(number, recipes, program);
    else if (in_place_network_)
      in_place_.add(number, program, lowering);
    else
      waves_.add(number, run, recipes, program, lowering);
  }

  void send(Launcher& launcher, bool with_factors) {
    gradients_.send(launcher, with_factors);
    if (in_place_network_) in_place_.send(launcher, *in_place_network_);
    if (wave_network_) waves_.send(launcher, *wave_network_);
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    gradients_.launch(launcher, stage, resident_.network(), statistics_decay_, cohort, pass_);
    if (in_place_network_) in_place_.launch(launcher, stage, *in_place_network_, cohort);
    if (wave_network_) waves_.launch(launcher, stage, *wave_network_, cohort);
  }

  void evaluate(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort,
                BlockEvaluation<Real, Launcher>& evaluation) {
    if (in_place_network_)
      evaluation.launch(launcher, stage, *in_place_network_, cohort, evaluators_);
    else
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

  Evaluation evaluation(const kernels::EvaluationSums& sums) const {
    return resident_.evaluation(sums);
  }

 private:
  using InPlaceRuns = InPlaceReplay<Real, Launcher>;
  using Waves = WaveReplay<Real, Launcher>;

  /// Of a pass, whether it is of minibatches or of an evaluation.
  static std::uint32_t most_rows(std::uint32_t minibatch) {
    return std::max(minibatch, kernels::RowList::together);
  }

  /// Of a block that evaluates.
  std::uint64_t evaluation_bytes() const { return in_place_network_->work() * sizeof(Real); }

  /// Blocks that evaluate at the same time, with at most a quarter of the memory.
  std::uint32_t evaluators_for(const Launcher& launcher, const DeviceOptions& options) const {
    if (!in_place_network_) return 0;
    const std::uint64_t fitting = launcher.free_memory() / 4 / evaluation_bytes();
    const std::uint64_t most = std::min<std::uint64_t>(launcher.blocks(), fitting);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, most / options.devices));
  }

  ResidentNetwork<Real, Launcher> resident_;
  // Null: no run is replayed like that.
  const kernels::InPlaceNetwork<Real>* in_place_network_;
  const kernels::InPlaceNetwork<Real>* wave_network_;
  std::uint32_t evaluators_;

  double statistics_decay_ = 0;
  std::vector<bool> from_factors_;  // [run]
  InPlaceRuns in_place_;
  Waves waves_;
  NetworkPass<Real, Launcher> pass_;
  GradientReplay<Real, Launcher> gradients_;
};

}  // namespace gradrace
