#pragma once

#include <string>
#include <vector>

#include "sim/cli/results/theory_files.h"

namespace gradrace {

/// What theory says of the points, for people: a line for each, and a sentence for what is empty.
std::string theory_text(const Scenario& scenario, const std::vector<TheoryRow>& rows);

}  // namespace gradrace
