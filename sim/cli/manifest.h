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

/// What an output folder holds, as its manifest tells it.
enum class Held {
  nothing,
  unfinished,  // an interrupted call left it
  same,        // every run of this very scenario, changes and seed included, by this very program
  other
};

/// Same data are taken for granted: files that were exchanged in their place go unnoticed.
Held held_results(const std::filesystem::path& folder, const Scenario& scenario);

/// "gradrace 0.1.0 (revision 1a2b3c4, dirty)".
std::string version_text();

}  // namespace gradrace
