#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  if (!code) throw std::runtime_error("only the CPU makes messages of this kind; use --device cpu");
  const Memory memory = message.memory.value_or(Memory{});
  const EstimateSteps steps = memory.estimate.value_or(EstimateSteps{});
  return {.code = *code,
          .shares_words = message.compressor->shares_words(),
          .takes_back = memory.takes_back,
          .votes = message.compressor->votes(),
          .joint = message.compressor->joint(),
          .remembers = message.memory.has_value(),
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
    wants_bytes_ = std::ranges::any_of(tapes, &Tape::wants_bytes);
    wants_bytes_back_ = std::ranges::any_of(tapes, &Tape::wants_bytes_back);
    work_stride_ = 0;
    for (std::size_t i = 0; i < tapes.size(); ++i) {
      for (const Rule& rule : tapes[i].rules) {
        runs_[i].sends_back.push_back(rule.back != nullptr);
        runs_[i].of_means.push_back(rule.back && rule.back->compressor->joint());
      }
      runs_[i].looks_at_steps =
          tapes[i].wants_norms ||
          std::ranges::find(runs_[i].sends_back, true) != runs_[i].sends_back.end();
      for (const Message& message : tapes[i].messages)
        work_stride_ = std::max(work_stride_, kernel_message(message, parameters).code.work);
    }
    if (std::ranges::none_of(tapes, compresses)) return;
    reserve(launcher, work_, tapes.size() * work_stride_);
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
  /// Whether the run's updates by that rule are of messages that learners make together, of means.
  bool are_of_means(std::uint32_t run, std::uint16_t rule) const {
    return runs_[run].of_means[rule];
  }
  /// Whether some are.
  bool are_of_means(std::size_t run) const {
    return std::ranges::find(runs_[run].of_means, true) != runs_[run].of_means.end();
  }
  /// Of a round, where the run looks at steps.
  void add_step(std::size_t round, const kernels::UpdateJob& update,
                std::span<const SlotUse> uses) {
    Run& run = runs_[update.run];
    double rate = 0;
    for (const SlotUse& use : uses) rate += use.weight;
    run.norms.emplace_back(round, steps_.add(round, {update, run.sent_back, rate}));
    run.sent_back += run.sends_back[update.rule];
  }

  void send(Launcher& launcher) {
    sent_.send(launcher), models_.send(launcher), uses_.send(launcher), steps_.send(launcher);
    places_.grow(launcher, places_used_);
    reserve(launcher, errors_.device, count_);
    if (wants_bytes_) reserve(launcher, bytes_.device, count_);
    if (wants_bytes_back_) reserve(launcher, bytes_back_.device, steps_.size());
    reserve(launcher, norms_.device, steps_.size());
    reserve(launcher, step_errors_.device, steps_.size());
  }
  void fetch(Launcher& launcher) {
    errors_.fetch(launcher, count_), norms_.fetch(launcher, steps_.size());
    step_errors_.fetch(launcher, steps_.size());
    if (wants_bytes_) bytes_.fetch(launcher, count_);
    if (wants_bytes_back_) bytes_back_.fetch(launcher, steps_.size());
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
                                         gradients, errors_.data(), bytes()},
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
                 kernels::StepKernel<Real>{
                     cohort, steps_.data(round), weights, steps, work_.data(), work_stride_,
                     norms_.data() + steps_.begin(round), step_errors_.data() + steps_.begin(round),
                     wants_bytes_back_ ? bytes_back_.data() + steps_.begin(round) : nullptr},
                 count);
    if (const std::uint32_t count = models_.count(round); count > 0)
      launch_all(launcher,
                 kernels::SendModelKernel<Real>{cohort, models_.data(round), work_.data(),
                                                work_stride_, errors_.data(), bytes()},
                 count);
  }

  /// Of those that a run makes, after a fetch: NaN of one that is not made.
  std::span<const double> errors(std::size_t run, const Program& program) const {
    return of_messages(errors_.host, run, program);
  }
  /// Likewise, where a run asks for them.
  std::span<const double> bytes(std::size_t run, const Program& program) const {
    return of_messages(bytes_.host, run, program);
  }
  /// Of the uses of a run some of whose updates are of means: that of its update's message, or NaN.
  std::vector<double> errors_of_uses(std::size_t run, const Program& program) const {
    std::vector<double> errors(program.uses.size(), std::numeric_limits<double>::quiet_NaN());
    auto at = runs_[run].norms.begin();
    for (const Step& step : program.steps) {
      if (step.kind != Step::Kind::update) continue;
      const auto& [round, number] = *at++;
      if (runs_[run].of_means[step.rule])
        std::fill_n(errors.begin() + step.first, step.count,
                    step_errors_.host[steps_.begin(round) + number]);
    }
    return errors;
  }
  /// Of the updates of a run that wants them.
  std::vector<double> norms(std::size_t run) const { return of_steps(norms_.host, run); }
  std::vector<double> bytes_back(std::size_t run) const { return of_steps(bytes_back_.host, run); }

 private:
  std::vector<double> of_steps(const std::vector<double>& all, std::size_t run) const {
    std::vector<double> result;
    for (const auto& [round, number] : runs_[run].norms)
      result.push_back(all[steps_.begin(round) + number]);
    return result;
  }
  double* bytes() const { return wants_bytes_ ? bytes_.data() : nullptr; }
  std::span<const double> of_messages(const std::vector<double>& all, std::size_t run,
                                      const Program& program) const {
    return std::span(all).subspan(runs_[run].first, program.sent.size() + program.models.size());
  }

  kernels::Values<Real> places(const kernels::Cohort<Real>& cohort) const {
    return places_.view(cohort.values.parameters, cohort.values.learnt);
  }

  ValuePages<Real, Launcher> places_;
  typename Launcher::template Memory<double> work_;  // [runs, stride]: BlockCode::work
  std::uint64_t work_stride_ = 0;
  typename Launcher::template Memory<kernels::SentJob> at_hand_;

  struct Run {
    bool looks_at_steps = false;
    std::vector<bool> sends_back = {}, of_means = {};             // [rule]
    std::uint32_t sent_back = 0;                                  // in all waves
    std::uint64_t first = 0;                                      // of its messages in the wave
    std::vector<std::pair<std::size_t, std::size_t>> norms = {};  // round and place there
  };
  std::vector<Run> runs_;
  bool wants_bytes_ = false, wants_bytes_back_ = false;

  // Of the wave.
  std::uint64_t count_ = 0;
  std::uint32_t places_used_ = 0;
  Staged<kernels::SentJob, Launcher> sent_;     // of each list of gradients
  Staged<kernels::MessageUse, Launcher> uses_;  // of each round
  Staged<kernels::ModelJob, Launcher> models_;  // likewise
  Staged<kernels::StepJob, Launcher> steps_;
  Mirror<double, Launcher> errors_, norms_, step_errors_, bytes_, bytes_back_;
};

}  // namespace gradrace
