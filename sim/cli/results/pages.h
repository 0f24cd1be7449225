#pragma once

#include <string>
#include <vector>

#include "sim/cli/output/output_folder.h"
#include "sim/cli/results/csv_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Of the CSV files that the runs of a scenario may write; columns of swept paths have the type of
/// their values.
std::vector<CsvPage> pages_of(const Scenario& scenario);

/// All files that runs may publish.
Files files_of_runs();

/// "curve.parquet" of "curve.csv".
std::string parquet_name(const std::string& csv);

}  // namespace gradrace
