#pragma once

#include <cstddef>
#include <istream>
#include <string>

namespace gradrace {

/// What has not been read of a stream, which is bad() after an error of the disk.
inline std::string rest_of(std::istream& stream) {
  std::string text;
  char part[1 << 16];
  while (stream.read(part, sizeof part), stream.gcount() > 0)
    text.append(part, static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace gradrace
