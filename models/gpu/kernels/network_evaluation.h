#pragma once

#include "models/gpu/kernels/pass.h"
#include "models/gpu/kernels/replay.h"

/// Evaluations of a network: rows of a value are jobs of a pass.
namespace gradrace::kernels {

/// Parts of an evaluation that have n rows each, of some values: job j of them is of value
/// j % values and of part j / values.
struct EvaluationJobs {
  const Evaluated* evaluated;
  std::uint32_t values;
  RowList list;
  std::uint32_t first;       // part of the list
  std::uint32_t first_part;  // of the evaluation: that part
};

/// Some of them, which go through the network together.
template <class Number>
struct EvaluationPass {
  using Real = Number;

  Pass<Real> pass;
  EvaluationJobs jobs;
  std::uint32_t done;  // jobs before them

  GRADRACE_HD std::uint32_t value(std::uint32_t job) const { return (done + job) % jobs.values; }
  GRADRACE_HD std::uint32_t part(std::uint32_t job) const { return (done + job) / jobs.values; }

  static constexpr std::uint32_t threads = 128, at_once = 1;
};

/// Says which rows and parameters they have; a block for each job.
template <class Real>
struct EvaluationBeginKernel : EvaluationPass<Real> {
  using EvaluationPass<Real>::pass, EvaluationPass<Real>::jobs;
  Cohort<Real> cohort;

  static std::size_t shared_numbers() { return 0; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const RowList& list = jobs.list;
    const std::uint32_t* const from =
        list.numbers + (jobs.first + this->part(number)) * RowList::together;
    std::uint32_t* const to = pass.rows(number);
    each(block, pass.n, [=](std::uint32_t i) { to[i] = from[i]; });
    const Evaluated what = jobs.evaluated[this->value(number)];
    const StateAt<Real> state = cohort.values.at(cohort.runs[what.run], what.run, what.slot);
    pass.begin(block, number, state.evaluated(), nullptr);
  }
};

/// Loss and errors; a block for each job.
template <class Real>
struct EvaluationLossKernel : EvaluationPass<Real> {
  using EvaluationPass<Real>::pass, EvaluationPass<Real>::jobs;
  EvaluationPart* parts;  // [values, network.parts()]

  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const Network<Real>& network = pass.network;
    EvaluationPart* const of_value = parts + std::uint64_t{this->value(number)} * network.parts();
    network.add_up_rows(block, pass.split, pass.rows(number), pass.n, pass.scores(number),
                        network.layers[network.depth - 1].outputs, pass.of_rows(number),
                        of_value + jobs.first_part + this->part(number));
  }
};

/// The part of the parameters; a block for each value.
template <class Number>
struct EvaluationParametersKernel {
  using Real = Number;

  Network<Real> network;
  Cohort<Real> cohort;
  const Evaluated* evaluated;
  EvaluationPart* parts;  // [values, network.parts()]

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t value, std::uint32_t) const {
    const Evaluated what = evaluated[value];
    const StateAt<Real> state = cohort.values.at(cohort.runs[what.run], what.run, what.slot);
    network.evaluate_parameters(block, state.evaluated(),
                                parts + (std::uint64_t{value} + 1) * network.parts() - 1);
  }
};

}  // namespace gradrace::kernels
