#pragma once

#include <istream>
#include <sstream>
#include <string>
#include <utility>

namespace gradrace {

/// What has not been read of a stream.
inline std::string rest_of(std::istream& stream) {
  std::ostringstream text;
  if (stream.peek() != std::istream::traits_type::eof()) text << stream.rdbuf();
  return std::move(text).str();
}

}  // namespace gradrace
