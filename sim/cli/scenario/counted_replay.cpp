#include "sim/cli/scenario/counted_replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "models/replay/replay_results.h"

namespace gradrace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

void CountedReplay::start(std::span<const Tape> tapes) {
  runs_.clear();
  for (const Tape& tape : tapes)
    runs_.push_back({tape, Lowering(Order::late, RateFactors(tape).wanted())});
}

void CountedReplay::replay(std::span<const Segment* const> wave, std::span<Results> results) {
  for (std::size_t run = 0; run < wave.size(); ++run) {
    if (!wave[run]) continue;
    CountedRun& counted = runs_[run];
    const Program& program = counted.lowering.lower(*wave[run]);
    count(counted, program);
    counts_.states = std::max(counts_.states, counted.lowering.slots());
    results[run] = {};
    results[run].evaluations.resize(program.evaluated.size(), found_);
    std::ranges::for_each(results[run].evaluations, [this](Evaluation& one) { vary(one); });
    for (const Step& step : program.steps)
      if (step.kind == Step::Kind::measure) measure(results[run].evaluations[step.first]);
    results[run].gradients_computed = program.computed;
    const auto updates = static_cast<std::size_t>(
        std::ranges::count(program.steps, Step::Kind::update, &Step::kind));
    const std::size_t sent = program.sent.size() + program.models.size();
    const auto bytes_of = [&tape = counted.tape](const Message& message) {
      return message.compressor->bytes(tape.coded_numbers);
    };
    if (counted.tape.wants_bytes)
      results[run].bytes.assign(sent, bytes_of(counted.tape.messages[0]));
    if (counted.tape.wants_bytes_back)
      results[run].bytes_back.assign(updates, bytes_of(*counted.tape.rules[0].back));
    if (counted.tape.wants_norms) results[run].norms.assign(updates, 1.0);
  }
}

/// Of their digits the last ones, as many as the losses of a run have.
void CountedReplay::vary(Evaluation& of) {
  of.disagreement = not_known;
  varied_ = std::fmod(varied_ + std::numbers::phi, 1);
  for (double* loss : {&of.loss, &of.test_loss}) *loss *= 1 - 0x1p-10 * varied_;
}

void CountedReplay::measure(Evaluation& of) {
  of.disagreement = found_.disagreement;
  counts_.measured = true;
}

/// A gradient that is folded into an update as it is computed has no place.
void CountedReplay::count(const CountedRun& run, const Program& program) {
  const auto keep = [&](const SlotUse& use) {
    counts_.kept = std::max(counts_.kept, use.place + 1);
  };
  for (const SlotUse& use : program.uses)
    if (use.computed || use.again || run.tape.recipes[use.recipe].clip > 0) keep(use);
  std::ranges::for_each(program.sent, keep);
  counts_.gradients += program.computed;
  counts_.evaluations += program.evaluated.size();
  counts_.terms += program.uses.size() + program.terms.size();
}

}  // namespace gradrace
