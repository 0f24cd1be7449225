#pragma once

#include <string>
#include <string_view>

namespace gradrace {

/// What a manifest's points begin with: they, targets and columns are its last keys, since there
/// may be many, and no text in JSON has a line break.
inline constexpr std::string_view points_begin = ",\n  \"points\": [";

/// A manifest without these, for who needs the rest; other texts as they are.
inline std::string without_points(std::string manifest) {
  const auto place = manifest.find(points_begin);
  return place == std::string::npos ? manifest : manifest.substr(0, place) + "\n}\n";
}

}  // namespace gradrace
