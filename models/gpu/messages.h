#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "models/gpu/kernels/message.h"
#include "models/gpu/mirror.h"
#include "models/gpu/staged.h"
#include "models/gpu/value_pages.h"
#include "models/replay/lowering.h"
#include "sim/compressor.h"

namespace gradrace {

/// Whether learners make messages of gradients.
inline bool compresses(const Tape& tape) {
  return std::ranges::any_of(tape.messages, [](const auto& one) { return !!one.compressor; });
}

/// The tape's message on a device, of so many numbers; std::runtime_error where it has none.
inline kernels::KernelMessage kernel_message(const Message& message, std::size_t numbers) {
  if (!message.compressor) return {};
  const auto code = message.compressor->block_code(numbers);
  if (!code || message.compressor->joint())
    throw std::runtime_error("only the CPU makes messages of this kind; use --device cpu");
  const Memory memory = message.memory.value_or(Memory{});
  const EstimateSteps steps = memory.estimate.value_or(EstimateSteps{});
  return {.code = *code,
          .shares_words = message.compressor->shares_words(),
          .takes_back = memory.takes_back,
          .follows = memory.estimate.has_value(),
          .decay = memory.decay,
          .lambda = steps.lambda,
          .nu = steps.nu};
}

/// The messages that the runs of a cohort make of gradients and use in updates.
template <class Real, class Launcher>
class Messages {
 public:
  /// together: gradients of a pass at most.
  void start(Launcher& launcher, std::span<const Tape> tapes, std::size_t parameters,
             std::size_t together) {
    first_.assign(tapes.size(), 0);
    if (std::ranges::none_of(tapes, compresses)) return;
    places_.start(launcher, tapes.size(), kernels::in_fours(parameters));
    reserve(launcher, at_hand_, together);
  }

  void clear() { sent_.clear(), uses_.clear(), count_ = places_used_ = 0; }

  /// Of the run come those that the program makes.
  void add(std::uint32_t run, const Program& program, std::uint32_t places) {
    first_[run] = count_;
    count_ += program.sent.size();
    if (!program.sent.empty()) places_used_ = std::max(places_used_, places);
  }
  /// One of a list of gradients.
  void add_sent(std::size_t list, std::uint32_t run, const SlotUse& sent, const Step& step) {
    sent_.add(list,
              {sent.code, sent.place, step.base, step.out, first_[run] + step.first, !sent.again});
  }
  /// Of an update of a round, one after the other.
  void add_use(std::size_t round, const kernels::MessageUse& use) { uses_.add(round, use); }

  void send(Launcher& launcher) {
    sent_.send(launcher), uses_.send(launcher);
    places_.grow(launcher, places_used_);
    reserve(launcher, errors_.device, count_);
  }
  void fetch(Launcher& launcher) { errors_.fetch(launcher, count_); }

  /// Some of a list are made next.
  void at_hand(Launcher& launcher, std::size_t list, std::uint32_t first, std::uint32_t count) {
    launcher.copy_within(sent_.data(list) + first, count, at_hand_.data());
  }
  void make(Launcher& launcher, const kernels::Cohort<Real>& cohort,
            const kernels::GradientJob* jobs, const kernels::KernelUse* uses,
            Real* const* gradients, std::uint32_t count) {
    launch_all(launcher,
               kernels::SendKernel<Real>{cohort, places(cohort), jobs, at_hand_.data(), uses,
                                         gradients, errors_.data()},
               count);
  }

  /// Those of a round's updates, to the steps of their runs.
  void add_up(Launcher& launcher, std::size_t round, const kernels::Cohort<Real>& cohort,
              const kernels::KernelUse* uses, kernels::UseWeight* weights, Real* steps) {
    const std::uint32_t count = uses_.count(round);
    if (count == 0) return;
    const kernels::AddMessagesKernel<Real> kernel{
        cohort, places(cohort), uses_.data(round), count, uses, weights, steps};
    launch_all(launcher, kernel, count * kernel.blocks());
  }

  /// Of those that a run makes, after a fetch: NaN of one that is not made.
  std::span<const double> errors(std::size_t run, const Program& program) const {
    return std::span(errors_.host).subspan(first_[run], program.sent.size());
  }

 private:
  kernels::Values<Real> places(const kernels::Cohort<Real>& cohort) const {
    return places_.view(cohort.values.parameters, cohort.values.learnt);
  }

  ValuePages<Real, Launcher> places_;
  typename Launcher::template Memory<kernels::SentJob> at_hand_;

  // Of the wave.
  std::vector<std::uint64_t> first_;  // [run]
  std::uint64_t count_ = 0;
  std::uint32_t places_used_ = 0;
  Staged<kernels::SentJob, Launcher> sent_;     // of each list of gradients
  Staged<kernels::MessageUse, Launcher> uses_;  // of each round
  Mirror<double, Launcher> errors_;
};

}  // namespace gradrace
