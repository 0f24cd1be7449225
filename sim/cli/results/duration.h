#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace gradrace {

/// "12 s", "3 min 05 s", "7 h 12 min".
inline std::string duration_text(double seconds) {
  char text[32];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.0f s", seconds);
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%d min %02d s", static_cast<int>(seconds) / 60,
                  static_cast<int>(seconds) % 60);
  } else {
    std::snprintf(text, sizeof text, "%.0f h %02d min", std::floor(seconds / 3600),
                  static_cast<int>(std::fmod(seconds, 3600)) / 60);
  }
  return text;
}

}  // namespace gradrace
