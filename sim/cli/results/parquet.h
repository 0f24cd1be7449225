#pragma once

#include "sim/cli/output/output_folder.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Throws std::runtime_error where the Python environment cannot write Parquet.
void check_parquet();

/// Puts Parquet files in the place of the CSV files of a scenario's runs, which are ended.  A type
/// of a column is the same in all files, but of a swept path's: integer, number or text as its
/// values are.  Throws std::runtime_error where that cannot be.
void turn_into_parquet(OutputFolder& files, const Scenario& scenario);

}  // namespace gradrace
