#pragma once

#include <string>
#include <vector>

#include "distributions/fit/readers/table_trace.h"

namespace gradrace {

/// Names that tell files apart: a file's without its ending, with the folders from the first that
/// differs where files are called alike ("rank0/trace").  Throws TraceError where a file was given
/// twice.
std::vector<std::string> names_of_files(const std::vector<TraceText>& files);

}  // namespace gradrace
