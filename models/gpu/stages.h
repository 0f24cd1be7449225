#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/replay/lowering.h"

namespace gradrace {

/// The steps of a run's program in stages.  In each, states are moved first; then come averages
/// and disagreements, none of which needs what another writes; then evaluations.  So each of the
/// three can be done for all runs side by side.
class Stages {
 public:
  /// The program must stay until the next call.
  void split(const Program& program);

  std::size_t count() const { return stages_.size(); }

  /// Steps compute, update and send.
  std::span<const Step* const> moves(std::size_t stage) const {
    return std::span(steps_).subspan(stages_[stage].first, stages_[stage].moves);
  }
  /// Steps average and measure.
  std::span<const Step* const> of_states(std::size_t stage) const {
    return std::span(steps_).subspan(stages_[stage].first + stages_[stage].moves,
                                     stages_[stage].of_states);
  }
  /// Null where there is none.
  const Step* evaluates(std::size_t stage) const { return stages_[stage].evaluates; }

 private:
  struct Stage {
    std::size_t first, moves = 0, of_states = 0;  // of steps_
    const Step* evaluates = nullptr;
  };
  /// The last stage in which a slot is read or written by a step of_states, counted from 1.
  struct Touched {
    std::size_t read = 0, written = 0;
  };

  void move(const Step& step);
  void add_of_states(const Program& program, const Step& step);
  bool is_free(const Program& program, const Step& step);
  template <class Use>
  static void each_read(const Program& program, const Step& step, const Use& use);
  Touched& touched(Slot slot);
  void end_stage();

  std::vector<const Step*> steps_;
  std::vector<const Step*> later_;  // steps compute that wait for the next stage
  std::vector<Stage> stages_;       // the last one is not ended
  std::vector<Touched> touched_;    // [slot]
};

}  // namespace gradrace
