#pragma once

#include <filesystem>
#include <string>

#include "distributions/fit/trace.h"

namespace gradrace {

/// The times that a scenario names, as the rows stand.  `pooled`: a draw is any learner's.  What
/// fit asks of a file is asked here too, with fit's sample.csv as the cure, which is taken as it
/// is: throws TraceError.  What fit says of it is in the notes.
Trace scenario_trace(const std::filesystem::path& file, const std::string& column,
                     const std::string& learner_column, bool pooled);

}  // namespace gradrace
