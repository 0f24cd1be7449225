#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/evaluation.h"
#include "sim/tape.h"

namespace gradrace {

/// What came out of one segment of one run.
struct Results {
  std::vector<Evaluation> evaluations;  // one for each evaluate, in order
  /// One for each evaluate, if a rule of the run has a distance: the mean factor that it gave the
  /// gradients used since the evaluate before; 1 if none was used.
  std::vector<double> rate_factors;
  /// ||g||_2 of the mean of the gradients, or messages, of each update, if the tape wants them.
  std::vector<double> norms;
  /// Of each message that is sent, and of that of each update that is sent back, 0 where none is;
  /// if the tape wants them.
  std::vector<double> bytes, bytes_back;
  std::uint64_t gradients_computed = 0;  // forward passes made for this segment
  /// Of the parameters of the segment's live values, in that order; set but where a limit cut it.
  std::uint64_t hash = 0;
};

/// Where a model's numbers are computed: replays the tapes of a cohort of runs.
///
/// Contract: start() names the runs of the cohort; then replay() is called with the next segment of
/// each run that still lives (null for the others), in tape order.  A gradient that is neither used
/// nor sent is not computed.  The numbers of a run depend neither on the other runs of its cohort
/// nor on where its segments end.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu", "NVIDIA H200".
  virtual std::string name() const = 0;

  /// How many runs it likes to replay side by side.
  virtual std::size_t cohort() const = 0;

  /// Time that it has spent computing for the replay, where it is not the caller's processor.
  virtual std::optional<double> kernel_seconds() const { return {}; }

  /// Time that it has spent in evaluations, where it is known.
  virtual std::optional<double> evaluation_seconds() const { return {}; }

  /// Makes what it shares with others of the same data, which is made when it is first wanted
  /// otherwise; std::bad_alloc where it does not fit into memory.
  virtual void prepare() {}

  virtual void start(std::span<const Tape> tapes) = 0;

  /// One wave.  results[i] is filled for wave[i].
  virtual void replay(std::span<const Segment* const> wave, std::span<Results> results) = 0;

  /// Parameters of the live values of a run of the cohort after a replay, one after the other.
  virtual std::vector<double> parameters(std::size_t run) = 0;
};

}  // namespace gradrace
