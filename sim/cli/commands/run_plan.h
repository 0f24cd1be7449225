#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "models/model/model.h"
#include "sim/cli/results/progress.h"
#include "sim/cli/scenario/memory.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// What the runs of a scenario take.
struct RunPlan {
  /// Points whose runs one device can replay side by side.
  struct Group {
    DeviceOptions options;  // for all of them, but for devices and threads
    ModelMemory memory = {};
    std::string obstacle = {};   // why none of its runs can be made; empty: none
    bool is_unreadable = false;  // the obstacle is in its data
  };

  std::vector<Theory> theories;       // [point]
  std::vector<double> work;           // [point]: estimated, of a run
  std::vector<std::size_t> group_of;  // [point]
  std::vector<Group> groups;
  double seconds_left_out = 0;  // of theory, about

  /// [run]: point x replicas + replica.
  std::vector<double> work_of_runs(const Scenario& scenario) const;
};

/// Reads the data.  std::runtime_error where no point's can be read; ScenarioError where data, or
/// so many runs under way at once, do not fit into memory.  patience: seconds of theory, after
/// which it says no more of further points than takes no time.
RunPlan plan_of(const Scenario& scenario, std::size_t jobs, const TellStep& tell = {},
                double patience = std::numeric_limits<double>::infinity());

}  // namespace gradrace
