#pragma once

#include "models/gpu/kernels/replay.h"
#include "models/gpu/kernels/sums.h"

/// Operations on whole states, which are of no model.
namespace gradrace::kernels {

/// A value of a run enters an average or a disagreement.
struct StateTerm {
  std::uint32_t slot;
  double weight;
};

/// Of a run: its average of terms [first, first + count) goes to out, which has what base has where
/// nothing is summed; or the disagreement of those terms with base is made.
struct StateJob {
  std::uint32_t run, out, base;
  std::uint64_t first;
  std::uint32_t count;
  Summed summed;
};

/// Averages as Op::average has them; a block for each chunk of each.
///
/// Memory traffic of an average of n numbers: each of its terms is read and one value written.
template <class Number>
struct AverageKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const StateJob* jobs;
  const StateTerm* terms;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t blocks() const { return chunks(cohort.values.stride); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const StateJob job = jobs[number / blocks()];
    const RunAt run = cohort.runs[job.run];
    const Values<Real>& values = cohort.values;
    const StateTerm* const of_job = terms + job.first;
    const Real* const base = values.at(run, job.run, job.base).w;
    Real* const out = values.at(run, job.run, job.out).w;
    const std::uint64_t summed = job.summed == Summed::learnt       ? run.layout.learnt
                                 : job.summed == Summed::parameters ? run.layout.parameters
                                                                    : run.layout.numbers;
    each_of_chunk(block, number % blocks(), run.layout.numbers, [&](std::uint64_t j) {
      if (j >= summed) {
        out[j] = base[j];
        return;
      }
      const auto term = [&](std::uint32_t t) {
        return of_job[t].weight * static_cast<double>(values.at(run, job.run, of_job[t].slot).w[j]);
      };
      double sum = term(0);
      for (std::uint32_t t = 1; t < job.count; ++t) sum += term(t);
      out[j] = static_cast<Real>(sum);
    });
    block.sync();
  }
};

/// Disagreements as Op::evaluate has them, but for the order of the numbers' shares, which is that
/// of sum(); a block for each.
template <class Number>
struct DisagreementKernel {
  using Real = Number;

  Cohort<Real> cohort;
  const StateJob* jobs;
  const StateTerm* terms;
  double* disagreements;  // [jobs]

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const StateJob job = jobs[number];
    const RunAt run = cohort.runs[job.run];
    const Values<Real>& values = cohort.values;
    const StateTerm* const of_job = terms + job.first;
    const Real* const base = values.at(run, job.run, job.base).w;
    const double disagreement = sum(block, values.parameters, [&](std::uint32_t j) {
      double share = 0;
      for (std::uint32_t t = 0; t < job.count; ++t) {
        const double apart =
            static_cast<double>(values.at(run, job.run, of_job[t].slot).w[j]) - base[j];
        share += of_job[t].weight * (apart * apart);
      }
      return share;
    });
    if (block.thread() == 0) disagreements[number] = disagreement;
  }
};

}  // namespace gradrace::kernels
