#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "models/gpu/kernels/gradient_replay.h"
#include "models/gpu/messages.h"
#include "models/gpu/staged.h"
#include "models/gpu/stages.h"
#include "models/gpu/use_list.h"
#include "models/optimiser/optimiser.h"

namespace gradrace {

/// Gradients that are made together, each at its use's value: `made` has a place in fours for each.
template <class Real>
struct JobsAtHand {
  const kernels::Cohort<Real>& cohort;
  const kernels::GradientJob* jobs;  // [count]
  const kernels::KernelUse* uses;
  Real* made;
  kernels::UseWeight* weights;  // [uses]
  double* factors;              // [uses]; null: not fetched
  std::uint32_t count;
};

/// The updates of runs by gradients that are made at values in their slots: all runs go side by
/// side, an update of each in a round, and the gradients of a round are made together, by a source:
///
///     together(n)   gradients of minibatches of n that can be made together
///     gradients()   [together(1)]: where they are then
///     moved()       the parameters that it can move by itself, in place of their gradient
///     make(launcher, n, moves, jobs)   moves: it does
///
/// Memory traffic of an update with one gradient beside what making it takes, in numbers of Real:
/// by plain SGD the base is read and the next w written, 2 d; by another rule, and where the norm
/// of g is asked for, g is written and read as well, 4 d, for momentum and the like 2 d more each.
/// Of several gradients each is written and read, and the step read and written, 4 d; then the step
/// and the base are read, the next w written and the step cleared, 4 d.  Of messages likewise,
/// beside what making them takes.
template <class Real, class Launcher>
class GradientReplay {
 public:
  /// together: gradients at most.
  void start(Launcher& launcher, std::span<const Tape> tapes, std::size_t parameters,
             std::uint32_t together) {
    uses_.start(tapes.size());
    messages_.start(launcher, tapes, parameters, together);
    plain_.clear();
    for (const Tape& tape : tapes) plain_.push_back(plain_rules(tape, parameters));
    reserve(launcher, made_, together * kernels::in_fours(parameters));
    reserve(launcher, at_hand_, together);
    reserve(launcher, steps_, tapes.size() * parameters);
    gradrace::clear(launcher, steps_.data(), steps_.size());
  }

  void clear() {
    uses_.clear(), updates_.clear(), gradients_.clear(), messages_.clear();
    for (auto& stage : rounds_) stage.clear();
    rounds_made_ = lists_ = 0;
  }

  /// run: number of the cohort's; recipes: its own.
  void add(std::uint32_t run, std::span<const Recipe> recipes, const Program& program,
           const Stages& stages, std::uint32_t places) {
    const std::uint64_t first_use = uses_.add(run, program);
    messages_.add(run, program, places);
    for (std::size_t stage = 0; stage < stages.count(); ++stage) {
      std::size_t number = 0;
      for (const Step* const step : stages.moves(stage)) {
        Round& round = round_of(stage, number++);
        if (step->kind == Step::Kind::send)
          add_sent(run, recipes, program, *step, first_use + program.uses.size(), round);
        else if (step->kind == Step::Kind::send_model)
          messages_.add_model(round.number, run, program.models[step->first], *step);
        else
          add(run, recipes, program, *step, first_use, round);
      }
    }
  }

  /// with_factors: the distance factors of the uses will be fetched.
  void send(Launcher& launcher, bool with_factors) {
    uses_.send(launcher, with_factors), updates_.send(launcher), gradients_.send(launcher);
    messages_.send(launcher);
    reserve(launcher, weights_, uses_.size());
  }

  template <class Source>
  void launch(Launcher& launcher, std::size_t stage, double statistics_decay,
              const kernels::Cohort<Real>& cohort, const Source& source) {
    if (stage >= rounds_.size()) return;
    constexpr kernels::NumberRange nothing;
    for (const Round& round : rounds_[stage]) {
      for (const auto& [kind, list] : round.gradients) {
        const auto [n, way] = kind;
        const std::uint32_t together = source.together(n);
        Real* const* const g = source.gradients();
        for (std::uint32_t done = 0; done < gradients_.count(list); done += together) {
          const std::uint32_t count = std::min(together, gradients_.count(list) - done);
          launcher.copy_within(gradients_.data(list) + done, count, at_hand_.data());
          if (way == Way::sent) messages_.at_hand(launcher, list, done, count);
          launcher.repeat({n, count, static_cast<std::uint32_t>(way), uses_.with_factors()}, [&] {
            source.make(launcher, n, way == Way::moved,
                        {cohort, at_hand_.data(), uses_.data(), made_.data(), weights_.data(),
                         uses_.factors(), count});
            if (way == Way::sent)
              return messages_.make(launcher, cohort, at_hand_.data(), uses_.data(), g, count);
            if (way != Way::moved) weigh(launcher, g, cohort, count);
            if (way == Way::added) return add_up(launcher, g, cohort, count);
            move(launcher,
                 {cohort, at_hand_.data(), weights_.data(), g, nullptr, statistics_decay,
                  way == Way::moved ? source.moved() : nothing},
                 count);
          });
        }
      }
      messages_.add_up(launcher, round.number, cohort, uses_.data(), weights_.data(),
                       steps_.data());
      if (updates_.count(round.number) > 0)
        move(launcher,
             {cohort, updates_.data(round.number), weights_.data(), nullptr, steps_.data(),
              statistics_decay, nothing},
             updates_.count(round.number));
    }
  }

  void fetch(Launcher& launcher) { uses_.fetch(launcher), messages_.fetch(launcher); }

  /// The distance factors of a run's uses, after a fetch with them.
  std::span<const double> factors(std::size_t run, const Program& program) const {
    return uses_.factors(run, program);
  }
  /// After a fetch.
  const Messages<Real, Launcher>& messages() const { return messages_; }

 private:
  template <class T>
  using Memory = typename Launcher::template Memory<T>;

  /// What becomes of a gradient; it follows from its update alone.
  enum class Way : std::uint8_t {
    moved,  // the only one of an update by plain SGD: most of it is never written
    alone,  // the only one of another update
    added,  // to others
    sent,   // by its learner
  };
  struct Round {
    std::size_t number;                                                   // in updates
    std::map<std::pair<std::uint32_t, Way>, std::size_t> gradients = {};  // minibatch: its list
  };

  /// Which rules of a run move by w' = w - sum of weight g.
  static std::vector<bool> plain_rules(const Tape& tape, std::size_t parameters) {
    const StateLayout layout = layout_of(tape.rules, parameters, {});
    std::vector<bool> plain;
    for (const Rule& rule : tape.rules)
      plain.push_back(is_plain(optimiser_of(rule), layout) && rule.distance == 0);
    return plain;
  }

  void add(std::uint32_t run, std::span<const Recipe> recipes, const Program& program,
           const Step& step, std::uint64_t first_use, Round& round) {
    const kernels::UpdateJob update{
        run, step.out, step.base, step.rule, first_use + step.first, step.count};
    const auto uses = std::span(program.uses).subspan(step.first, step.count);
    const bool looks_at_steps = messages_.looks_at_steps(run);
    if (messages_.are_of_means(run, step.rule))
      for (std::uint32_t i = 0; i < step.count; ++i)
        uses_.weigh(update.first + i, 1.0 / step.count);
    const bool by_steps = step.count != 1 || looks_at_steps ||
                          std::ranges::any_of(uses, [](const auto& use) { return use.message; });
    if (by_steps) updates_.add(round.number, {update, 0});
    if (looks_at_steps) messages_.add_step(round.number, update, uses);
    for (std::uint32_t u = step.first; u < step.first + step.count; ++u) {
      if (program.uses[u].message) {
        messages_.add_use(round.number, {run, program.uses[u].place, first_use + u});
        continue;
      }
      const Recipe& recipe = recipes[program.uses[u].recipe];
      const Way way = by_steps                                     ? Way::added
                      : plain_[run][step.rule] && recipe.clip == 0 ? Way::moved
                                                                   : Way::alone;
      gradients_.add(list_of(round, recipe.minibatch, way), {update, first_use + u});
    }
  }

  void add_sent(std::uint32_t run, std::span<const Recipe> recipes, const Program& program,
                const Step& step, std::uint64_t first_sent, Round& round) {
    const SlotUse& sent = program.sent[step.first];
    const std::size_t list = list_of(round, recipes[sent.recipe].minibatch, Way::sent);
    gradients_.add(list, {{run, 0, 0, 0, 0, 0}, first_sent + step.first});
    messages_.add_sent(list, sent, step);
  }

  std::size_t list_of(Round& round, std::uint32_t minibatch, Way way) {
    const auto [list, fresh] = round.gradients.try_emplace(std::pair(minibatch, way), lists_);
    lists_ += fresh;
    return list->second;
  }

  Round& round_of(std::size_t stage, std::size_t number) {
    if (rounds_.size() <= stage) rounds_.resize(stage + 1);
    if (rounds_[stage].size() <= number) rounds_[stage].push_back({rounds_made_++});
    return rounds_[stage][number];
  }

  // Of the jobs at hand.
  void weigh(Launcher& launcher, Real* const* g, const kernels::Cohort<Real>& cohort,
             std::uint32_t count) {
    launch_all(launcher,
               kernels::WeighKernel<Real>{cohort, at_hand_.data(), uses_.data(), g, weights_.data(),
                                          uses_.factors()},
               count);
  }
  void add_up(Launcher& launcher, Real* const* g, const kernels::Cohort<Real>& cohort,
              std::uint32_t count) {
    const kernels::AddKernel<Real> add{cohort.values, at_hand_.data(), count, weights_.data(), g,
                                       steps_.data()};
    launch_all(launcher, add, count * add.blocks());
  }
  static void move(Launcher& launcher, const kernels::MoveKernel<Real>& kernel,
                   std::uint32_t count) {
    launch_all(launcher, kernel, count * kernel.blocks());
  }

  Memory<Real> steps_, made_;
  Memory<kernels::GradientJob> at_hand_;
  Memory<kernels::UseWeight> weights_;
  std::vector<std::vector<bool>> plain_;  // [run][rule]

  // Of the wave.
  UseList<Launcher> uses_;
  std::vector<std::vector<Round>> rounds_;  // of each stage
  std::size_t rounds_made_ = 0, lists_ = 0;
  Staged<kernels::GradientJob, Launcher> updates_;    // of each round, by steps
  Staged<kernels::GradientJob, Launcher> gradients_;  // of each list
  Messages<Real, Launcher> messages_;
};

}  // namespace gradrace
