#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cli/results/run_files.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Lines of cells, each column as wide as its widest cell.
std::string aligned(std::vector<std::vector<std::string>> rows);

/// "name: title", or the name alone.
std::string named_title(const Point& point);

/// The table that a run ends with: a line for each point, mean and standard deviation over its
/// replicas.
std::string closing_table(const Scenario& scenario, const std::vector<Theory>& theories,
                          const std::vector<RunSummary>& summaries, std::optional<double> elapsed);

}  // namespace gradrace
