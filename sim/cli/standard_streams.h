#pragma once

#include <string>

namespace gradrace {

/// Opens /dev/null in place of those of stdin, stdout and stderr that the caller closed, so that no
/// file of results gets their number and what is meant for the terminal.
void open_standard_streams();

/// Why what was written to stdout or stderr did not get there, once nothing more is written; empty:
/// it did, or the reader of a pipe has gone, who wants no more.
std::string lost_output();

}  // namespace gradrace
