#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace gradrace {

/// Rounded to at most `digits` significant digits: "0.3333", "1e+10".
inline std::string short_number(double value, int digits = 4) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

/// "1 run", "2 runs".
inline std::string count_text(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace gradrace
