#pragma once

#include <functional>
#include <vector>

#include "sim/cli/scenario/sweep.h"
#include "sim/reading/document.h"

namespace gradrace {

/// Mistakes in values that no point has, because the sweep sets another one there: the file's own,
/// and parts of what an earlier path sets.  A value is fine if it is at one of the points in place
/// of what the sweep sets.  `read`: the problems of a document.
std::vector<Problem> problems_of_covered_values(
    const Sweep& sweep, const std::function<std::vector<Problem>(const Document&)>& read);

}  // namespace gradrace
