#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/gpu/kernels/whole_states.h"
#include "models/gpu/staged.h"
#include "models/gpu/stages.h"

namespace gradrace {

/// The averages and disagreements of a wave, those of a stage together.
template <class Real, class Launcher>
class WholeStates {
 public:
  void clear() { averages_.clear(), measures_.clear(), terms_.host.clear(); }

  /// A disagreement that a run asks for, and where it is found.
  struct Measured {
    std::uint32_t evaluated;  // of the program
    std::size_t stage, number;
  };

  /// measured: gets those of the program.
  void add(std::uint32_t run, const Program& program, const Stages& stages,
           std::vector<Measured>& measured) {
    const std::uint64_t first_term = terms_.host.size();
    for (const SlotTerm& term : program.terms) terms_.host.push_back({term.at, term.weight});
    for (std::size_t stage = 0; stage < stages.count(); ++stage) {
      for (const Step* const step : stages.of_states(stage)) {
        const auto terms = terms_of(program, *step);
        const auto first = static_cast<std::uint64_t>(terms.data() - program.terms.data());
        const kernels::StateJob job{run,
                                    step->out,
                                    step->base,
                                    first_term + first,
                                    static_cast<std::uint32_t>(terms.size()),
                                    step->summed};
        if (step->kind == Step::Kind::average)
          averages_.add(stage, job);
        else
          measured.push_back({step->first, stage, measures_.add(stage, job)});
      }
    }
  }

  void send(Launcher& launcher) {
    averages_.send(launcher), measures_.send(launcher), terms_.send(launcher);
    reserve(launcher, disagreements_.device, measures_.size());
  }

  void launch(Launcher& launcher, std::size_t stage, const kernels::Cohort<Real>& cohort) {
    if (averages_.count(stage) > 0) {
      const kernels::AverageKernel<Real> kernel{cohort, averages_.data(stage), terms_.data()};
      launch_all(launcher, kernel, averages_.count(stage) * kernel.blocks());
    }
    if (measures_.count(stage) > 0)
      launch_all(launcher,
                 kernels::DisagreementKernel<Real>{cohort, measures_.data(stage), terms_.data(),
                                                   disagreements_.data() + measures_.begin(stage)},
                 measures_.count(stage));
  }

  void fetch(Launcher& launcher) { disagreements_.fetch(launcher, measures_.size()); }

  /// After a fetch.
  double disagreement(const Measured& of) const {
    return disagreements_.host[measures_.begin(of.stage) + of.number];
  }

 private:
  Staged<kernels::StateJob, Launcher> averages_, measures_;
  Mirror<kernels::StateTerm, Launcher> terms_;
  Mirror<double, Launcher> disagreements_;
};

}  // namespace gradrace
