#pragma once

#include <algorithm>
#include <cstdint>

#include "models/gpu/gradient_replay.h"
#include "models/gpu/kernels/quadratic.h"

namespace gradrace {

/// The gradients of a quadratic, a block for each.
template <class Real, class Launcher>
class QuadraticGradients {
 public:
  explicit QuadraticGradients(const kernels::Quadratic<Real>& quadratic) : quadratic_(quadratic) {}

  void make_room(Launcher& launcher) { reserve(launcher, gradients_, together(1)); }

  std::uint32_t together(std::uint32_t) const {
    const std::uint64_t bytes = std::uint64_t{quadratic_.parameters} * sizeof(Real);
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(Launcher::pass_bytes / bytes, 1, 1024));
  }
  Real* const* gradients() const { return gradients_.data(); }
  static kernels::NumberRange moved() { return {}; }

  void make(Launcher& launcher, std::uint32_t, bool moves, const JobsAtHand<Real>& of) const {
    launch_all(launcher,
               kernels::GradientKernel<kernels::Quadratic<Real>>{
                   quadratic_, of.cohort, of.jobs, of.uses, of.made, gradients_.data(),
                   moves ? of.weights : nullptr, of.factors},
               of.count);
  }

 private:
  const kernels::Quadratic<Real>& quadratic_;
  typename Launcher::template Memory<Real*> gradients_;
};

}  // namespace gradrace
