#pragma once

#include <cstddef>
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

/// "gradrace 0.1.0 (revision 1a2b3c4, dirty)".
std::string version_text();

}  // namespace gradrace
