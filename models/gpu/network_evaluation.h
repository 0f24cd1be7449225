#pragma once

#include <algorithm>
#include <cstdint>

#include "models/gpu/kernels/network_evaluation.h"
#include "models/gpu/network_pass.h"

namespace gradrace {

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

}  // namespace gradrace
