#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/cli/results/converted_tables.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/run_folder.h"

namespace gradrace {

/// What the runs of a folder say together.
struct Summary {
  std::vector<RunSummary> runs;  // [point x replicas + replica]; interrupted: it is not there
  std::size_t finished = 0;
  std::vector<std::string> notes;
  bool drawings_went = false;  // plots of the files before were removed, or their page
};

/// Why runs could not be made: [run].
using RunFailures = std::map<std::size_t, std::string>;

/// Writes and publishes the files of results, of the runs that are there and of those that failed,
/// in the order of their numbers.  theories: [point]; stop: whether to end without, by
/// PublishingEnded.
Summary publish(
    RunFolder& folder, const std::vector<Theory>& theories, const RunFailures& failures,
    RunFacts facts, Format format = Format::csv,
    const std::function<bool()>& stop = [] { return false; });

/// The same, of a folder whose files are published.
Summary summary_of(const RunFolder& folder);

/// UsageError where publish() would take the place of a file that is not of the folder's results.
void refuse_others(RunFolder& folder, const std::vector<Theory>& theories,
                   Format format = Format::csv);

}  // namespace gradrace
