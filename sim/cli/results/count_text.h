#pragma once

#include <cstddef>
#include <string>

namespace gradrace {

/// "1 run", "2 runs".
inline std::string count_text(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace gradrace
