#pragma once

#include <string>

namespace gradrace {

/// Why a name is of no file or folder of this machine, and what is to be done: of an address, and
/// of the home folder as a shell knows it; else empty.
std::string why_elsewhere(const std::string& name);

}  // namespace gradrace
