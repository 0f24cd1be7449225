#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/evaluation.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// The first limit that is met ends a run.  What they mean: stop_conditions().
struct Stop {
  std::optional<double> time;
  std::optional<std::uint64_t> updates;
  std::optional<std::uint64_t> gradients;
  std::optional<double> epochs;
  std::optional<double> loss, test_error;
};

/// How far a run is.
struct Reached {
  double time, updates, gradients, epochs;
};

/// One of the limits: its key in a scenario's `stop`, what it may be, and how it is met.
struct StopCondition {
  using Real = std::optional<double> Stop::*;
  using Whole = std::optional<std::uint64_t> Stop::*;
  enum class Needs { nothing, data_set, model, classes };
  /// clock: at that time, after all that happens then.  count: at an update, when so much is
  /// reached.  judged: at an evaluation that finds so much or less.
  enum class How { clock, count, judged };

  std::string_view key;
  std::variant<Real, Whole> limit;
  Range range;
  std::string_view meaning;
  Needs needs;  // of a scenario
  How how;
  bool is_work;               // so many gradients under any protocol
  double Reached::*reached;   // null if judged
  double Evaluation::*found;  // null if not

  void visit(Fields& fields, Stop& stop) const;
  std::optional<double> of(const Stop& stop) const;
};

/// In the order of the reference.
std::span<const StopCondition> stop_conditions();

/// A limit that is counted and set.
struct CountedLimit {
  double Reached::*reached;
  double limit;
};
std::vector<CountedLimit> counted_limits(const Stop& stop);

/// Whether one that is judged is set, and whether another is.
bool is_judged(const Stop& stop);
bool is_limited(const Stop& stop);
/// Whether the evaluation meets one of those.
bool meets(const Evaluation& evaluation, const Stop& stop);
/// Share of the run that is done by the nearest of the others, 0 to 1.
double progress(const Reached& reached, const Stop& stop);

}  // namespace gradrace
