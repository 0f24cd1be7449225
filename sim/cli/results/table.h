#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cli/results/run_files.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Lines of cells, each column as wide as its widest cell.
std::string aligned(std::vector<std::vector<std::string>> rows);

/// "2.5", "<= 2.5" of an upper bound, ">= 2.5", "~ 2.5"; "-" where it is not known.
std::string estimate_text(const std::optional<Estimate>& estimate);

/// What times are measured in: "s".
std::string time_unit_text(const Point& point);

/// "name: title", or the name alone.
std::string named_title(const Point& point);

/// The table that a run ends with: a line for each point, means over its replicas and half of their
/// 95 % intervals, and what the words and numbers of it mean.  Of more than 20 points those that
/// are named, the best of each protocol, and the best others; with a width, columns that it has no
/// room for are left out.
std::string closing_table(const Scenario& scenario, const std::vector<Theory>& theories,
                          const std::vector<RunSummary>& summaries, std::optional<double> elapsed,
                          std::optional<std::size_t> width,
                          const std::vector<std::size_t>& named = {});

/// That plots and a page went with the files that they were drawn of.
std::string note_of_drawings(bool will_plot);

}  // namespace gradrace
