#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/cli/scenario.h"

namespace gradrace {

struct RunFacts {
  std::size_t runs, finished;
  unsigned jobs;
  double elapsed;  // seconds
  std::vector<std::string> notes;
};

/// manifest.json: everything to repeat the runs, and what they were made with.
std::string manifest_text(const Scenario& scenario, const RunFacts& facts);

/// Whether the folder holds every run of this very scenario, changes and seed included, by this
/// very program.  What an interrupted call left is not whole.  Same data are taken for granted:
/// files that were exchanged in their place go unnoticed.  UsageError where it holds anything else.
bool holds_results(const std::filesystem::path& folder, const Scenario& scenario);

/// "gradrace 0.1.0 (revision 1a2b3c4, dirty)".
std::string version_text();

}  // namespace gradrace
