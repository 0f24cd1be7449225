#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/cli/scenario/memory_limit.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// A part of what a call holds at once, and the key that it grows with.
struct MemoryPart {
  std::string key;   // dotted
  std::string what;  // "the values of 8 learners"
  double bytes;
};

/// Of a run whose learner keeps so much besides values.
constexpr double bytes_of_learner = 180;
/// Of each run of the scenario, under way or not, and of each of its targets.
constexpr double bytes_of_run = 400, bytes_of_target = 2000;
/// Of each step of a learner's own in the gradients of an update, on the tape and beside it.
constexpr double bytes_of_local_step = 400;
/// Of a card's share for so many messages at once, on each link.
constexpr double bytes_of_share = 5;
/// That a value takes beside its numbers.
constexpr double bytes_of_slot = 100;

/// Of a value and of what the optimiser keeps beside it, or of a learner's dual variables.
double state_bytes(const Point& point, const Race& race, const ValueLayout& value);

/// What the data and all runs of a scenario hold, at least; nothing is read.
std::vector<MemoryPart> memory_of_scenario(const Scenario& scenario, const Point& point);

/// What the CPU keeps of a model.
struct ModelMemory {
  ValueLayout value = {};  // no numbers: there is no model
  double row = 0;          // bytes that a gradient holds of each row of its minibatch
  double weights = 0;      // of its layers, where there are any: more than a network may have, too
};
ModelMemory memory_of_model(const Point& point);

/// Refuses, by ScenarioError, what does not fit into the limit with its size and its key: before
/// any data are read the data and what is kept of all runs of the scenario, and then so many runs
/// of a point at once.
class MemoryCheck {
 public:
  MemoryCheck(const Scenario& scenario, std::size_t threads, MemoryLimit limit = memory_limit());

  void check_data(const Point& point) const;
  void check_runs(const Point& point, const Race& race, const ModelMemory& model) const;

 private:
  void check(const std::vector<MemoryPart>& parts) const;
  std::vector<MemoryPart> parts_of_runs(const Point& point, const Race& race,
                                        const ModelMemory& model) const;
  double states_held(const Point& point, const Race& race, double bytes_of_state) const;

  const Scenario& scenario_;
  const double threads_;
  const MemoryLimit limit_;
};

}  // namespace gradrace
