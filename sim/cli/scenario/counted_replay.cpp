#include "sim/cli/scenario/counted_replay.h"

#include <algorithm>

#include "models/replay/replay_results.h"

namespace gradrace {

void CountedReplay::start(std::span<const Tape> tapes) {
  runs_.clear();
  for (const Tape& tape : tapes) runs_.emplace_back(Order::late, RateFactors(tape).wanted());
}

void CountedReplay::replay(std::span<const Segment* const> wave, std::span<Results> results) {
  for (std::size_t run = 0; run < wave.size(); ++run) {
    if (!wave[run]) continue;
    const Program& program = runs_[run].lower(*wave[run]);
    count(program);
    counts_.states = std::max(counts_.states, runs_[run].slots());
    counts_.kept = std::max(counts_.kept, runs_[run].places());
    results[run] = {};
    results[run].evaluations.resize(program.evaluated.size(), {1, 1, 1, 0});
    results[run].gradients_computed = program.computed;
  }
}

void CountedReplay::count(const Program& program) {
  counts_.gradients += program.computed;
  counts_.evaluations += program.evaluated.size();
  counts_.terms += program.uses.size() + program.terms.size();
}

}  // namespace gradrace
