#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "models/gpu/kernels/replay.h"
#include "models/gpu/staged.h"

namespace gradrace {

/// The evaluations of a wave, those of a stage together.
template <class Real, class Launcher>
class BlockEvaluation {
 public:
  void clear() { evaluated_.clear(); }

  /// Where the answer is to be found.
  struct Ticket {
    std::size_t stage, number;
  };

  Ticket add(std::size_t stage, std::uint32_t run, std::uint32_t slot) {
    return {stage, evaluated_.add(stage, {run, slot})};
  }

  void send(Launcher& launcher) {
    evaluated_.send(launcher);
    reserve(launcher, sums_.device, evaluated_.size());
  }

  /// With so many blocks at the same time.
  template <class Model>
  void launch(Launcher& launcher, std::size_t stage, const Model& model,
              const kernels::Cohort<Real>& cohort, std::uint32_t blocks) {
    reserve(launcher, work_, blocks * model.work());
    launch(launcher, stage, model,
           [&](const kernels::Evaluated* evaluated, std::uint32_t count,
               kernels::EvaluationPart* parts) {
             launcher.launch(kernels::EvaluationKernel<Model>{model, cohort, evaluated, count,
                                                              parts, work_.data(), model.work()},
                             count * model.parts(), blocks);
           });
  }

  /// evaluate(values, count, parts): makes the parts [count, model.parts()] of those values.
  template <class Model, class Evaluate>
  void launch(Launcher& launcher, std::size_t stage, const Model& model, const Evaluate& evaluate) {
    const std::size_t all = evaluated_.count(stage);
    const std::size_t together = std::max<std::size_t>(1, most_parts / model.parts());
    for (std::size_t done = 0; done < all; done += together) {
      const auto count = static_cast<std::uint32_t>(std::min(together, all - done));
      reserve(launcher, parts_, count * model.parts());
      evaluate(evaluated_.data(stage) + done, count, parts_.data());
      launcher.launch(
          kernels::EvaluationSumKernel<Model>{model, parts_.data(),
                                              sums_.data() + evaluated_.begin(stage) + done},
          count, count);
    }
  }

  void fetch(Launcher& launcher) { sums_.fetch(launcher, evaluated_.size()); }

  /// After a fetch.
  const kernels::EvaluationSums& sums(const Ticket& of) const {
    return sums_.host[evaluated_.begin(of.stage) + of.number];
  }

 private:
  static constexpr std::size_t most_parts = std::size_t{1} << 20;  // at once

  Staged<kernels::Evaluated, Launcher> evaluated_;
  typename Launcher::template Memory<Real> work_;
  typename Launcher::template Memory<kernels::EvaluationPart> parts_;
  Mirror<kernels::EvaluationSums, Launcher> sums_;
};

}  // namespace gradrace
