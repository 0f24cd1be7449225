#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
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
          .votes = message.compressor->votes(),
          .follows = memory.estimate.has_value(),
          .decay = memory.decay,
          .lambda = steps.lambda,
          .nu = steps.nu};
}

/// The messages that the runs of a cohort make of gradients and use in updates, of models and of
/// steps, and the norms of updates.
template <class Real, class Launcher>
class Messages {
 public:
  /// together: gradients of a pass at most.
  void start(Launcher& launcher, std::span<const Tape> tapes, std::size_t parameters,
             std::size_t together) {
    runs_.assign(tapes.size(), {});
    for (std::size_t i = 0; i < tapes.size(); ++i) {
      for (const Rule& rule : tapes[i].rules) runs_[i].sends_back.push_back(rule.back != nullptr);
      runs_[i].looks_at_steps =
          tapes[i].wants_norms ||
          std::ranges::find(runs_[i].sends_back, true) != runs_[i].sends_back.end();
    }
    if (std::ranges::none_of(tapes, compresses)) return;
    places_.start(launcher, tapes.size(), kernels::in_fours(parameters));
    reserve(launcher, at_hand_, together);
  }

  void clear() {
    sent_.clear(), models_.clear(), uses_.clear(), steps_.clear();
    count_ = places_used_ = 0;
  }

  /// Of the run come those that the program makes.
  void add(std::uint32_t run, const Program& program, std::uint32_t places) {
    runs_[run].first = count_;
    runs_[run].norms.clear();
    if (!program.sent.empty()) places_used_ = std::max(places_used_, places);
  }
  /// One of a list of gradients.
  void add_sent(std::size_t list, const SlotUse& sent, const Step& step) {
    sent_.add(list, {sent.code, sent.place, step.base, step.out, count_++, !sent.again});
  }
  /// Of a round.
  void add_model(std::size_t round, std::uint32_t run, const SlotModel& sent, const Step& step) {
    models_.add(round, {run, sent.at, step.base, step.out, sent.before, sent.after, sent.message,
                        sent.learner, sent.number, count_++});
  }
  /// Of an update of a round, one after the other.
  void add_use(std::size_t round, const kernels::MessageUse& use) { uses_.add(round, use); }

  /// Whether updates of the run are made by steps that are at hand before they move a value.
  bool looks_at_steps(std::uint32_t run) const { return runs_[run].looks_at_steps; }
  /// Of a round, where the run looks at steps.
  void add_step(std::size_t round, const kernels::UpdateJob& update) {
    Run& run = runs_[update.run];
    run.norms.emplace_back(round, steps_.add(round, {update, run.sent_back}));
    run.sent_back += run.sends_back[update.rule];
  }

  void send(Launcher& launcher) {
    sent_.send(launcher), models_.send(launcher), uses_.send(launcher), steps_.send(launcher);
    places_.grow(launcher, places_used_);
    reserve(launcher, errors_.device, count_), reserve(launcher, norms_.device, steps_.size());
  }
  void fetch(Launcher& launcher) {
    errors_.fetch(launcher, count_), norms_.fetch(launcher, steps_.size());
  }

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

  /// Those of a round's updates, to the steps of their runs, and what becomes of these; and the
  /// round's models.
  void add_up(Launcher& launcher, std::size_t round, const kernels::Cohort<Real>& cohort,
              const kernels::KernelUse* uses, kernels::UseWeight* weights, Real* steps) {
    if (const std::uint32_t count = uses_.count(round); count > 0) {
      const kernels::AddMessagesKernel<Real> kernel{
          cohort, places(cohort), uses_.data(round), count, uses, weights, steps};
      launch_all(launcher, kernel, count * kernel.blocks());
    }
    if (const std::uint32_t count = steps_.count(round); count > 0)
      launch_all(launcher,
                 kernels::StepKernel<Real>{cohort, steps_.data(round), weights, steps,
                                           norms_.data() + steps_.begin(round)},
                 count);
    if (const std::uint32_t count = models_.count(round); count > 0)
      launch_all(launcher,
                 kernels::SendModelKernel<Real>{cohort, models_.data(round), errors_.data()},
                 count);
  }

  /// Of those that a run makes, after a fetch: NaN of one that is not made.
  std::span<const double> errors(std::size_t run, const Program& program) const {
    return std::span(errors_.host)
        .subspan(runs_[run].first, program.sent.size() + program.models.size());
  }
  /// Of the updates of a run that wants them.
  std::vector<double> norms(std::size_t run) const {
    std::vector<double> norms;
    for (const auto& [round, number] : runs_[run].norms)
      norms.push_back(norms_.host[steps_.begin(round) + number]);
    return norms;
  }

 private:
  kernels::Values<Real> places(const kernels::Cohort<Real>& cohort) const {
    return places_.view(cohort.values.parameters, cohort.values.learnt);
  }

  ValuePages<Real, Launcher> places_;
  typename Launcher::template Memory<kernels::SentJob> at_hand_;

  struct Run {
    bool looks_at_steps = false;
    std::vector<bool> sends_back = {};                            // [rule]
    std::uint32_t sent_back = 0;                                  // in all waves
    std::uint64_t first = 0;                                      // of its messages in the wave
    std::vector<std::pair<std::size_t, std::size_t>> norms = {};  // round and place there
  };
  std::vector<Run> runs_;

  // Of the wave.
  std::uint64_t count_ = 0;
  std::uint32_t places_used_ = 0;
  Staged<kernels::SentJob, Launcher> sent_;     // of each list of gradients
  Staged<kernels::MessageUse, Launcher> uses_;  // of each round
  Staged<kernels::ModelJob, Launcher> models_;  // likewise
  Staged<kernels::StepJob, Launcher> steps_;
  Mirror<double, Launcher> errors_, norms_;
};

}  // namespace gradrace
