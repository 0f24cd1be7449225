#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/results/measured_notes.h"
#include "sim/engine/run.h"

namespace gradrace {

/// What failures of learners cost, besides the minibatches that were lost.
struct FailureCosts {
  Losses losses;
  double useful = 0;  // sum over learners of the time in which they computed what was not wasted
};

/// What runs.csv and the closing table say of a run that has ended, except what its point says.
struct RunResult {
  Status status = Status::interrupted;
  std::string reason;
  Totals totals;
  CurvePoint last;
  std::optional<double> first_loss;  // of the first evaluation of a model
  std::uint64_t gradients_computed = 0;
  std::uint64_t hash = 0;                   // of the final parameters
  std::optional<ExchangeTotals> exchanged;  // sum over learners; none where they are not followed
  std::optional<Utilisation> utilisation;
  std::optional<FailureCosts> failures;  // where they are told
  std::optional<OuterUpdates> outer;     // of a coordinator, if it made some
  std::vector<double> target_times;      // NaN: not reached; in the order of targets_of()
  std::vector<double> target_intervals;  // from the evaluation before to that one
  std::vector<RanOut> ran_out;           // replays of measured times
};

RunResult result_of(const RunRecord& record, const Cluster& cluster,
                    std::vector<double> target_times, std::vector<double> target_intervals,
                    std::optional<double> first_loss);

/// As a store keeps it (cells), and back; std::runtime_error where it is none.
std::string bytes_of(const RunResult& result);
RunResult result_from(std::string_view bytes);

/// Whether these are bytes_of() a run that has ended, of a scenario with so many targets.
bool is_result(std::string_view bytes, std::size_t targets);

}  // namespace gradrace
