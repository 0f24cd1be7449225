#pragma once

#include <cstdint>

#include "models/gpu/gradient_replay.h"
#include "models/gpu/network_pass.h"

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

}  // namespace gradrace
