#pragma once

#include <vector>

#include "sim/cli/results/csv_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Of the CSV files that the runs of a scenario may write; columns of swept paths have the type of
/// their values.
std::vector<CsvPage> pages_of(const Scenario& scenario);

}  // namespace gradrace
