#include "sim/cli/output/stamp.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

namespace gradrace {

namespace {

/// Of the bytes before a place in the file, and of its name.
std::string checksum_of(std::ifstream& stream, std::uint64_t place, const std::string& name) {
  std::uint32_t checksum = 0;
  std::string piece(1 << 16, '\0');
  stream.clear();
  stream.seekg(0);
  while (place > 0 && stream) {
    const auto count = static_cast<std::streamsize>(std::min<std::uint64_t>(place, piece.size()));
    stream.read(piece.data(), count);
    checksum = static_cast<std::uint32_t>(crc32_z(
        checksum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<z_size_t>(count)));
    place -= static_cast<std::uint64_t>(count);
  }
  checksum = static_cast<std::uint32_t>(
      crc32_z(checksum, reinterpret_cast<const Bytef*>(name.data()), name.size()));
  char text[9];
  std::snprintf(text, sizeof text, "%08x", checksum);
  return text;
}

/// What may follow the checksum: the end of a comment, or of a PNG file.
bool is_end(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr auto last_chunk = "\0\0\0\0IEND\xae\x42\x60\x82"sv;
  return bytes.empty() || bytes == "\n" || bytes == " -->\n" ||
         (bytes.size() == 4 + last_chunk.size() && bytes.ends_with(last_chunk));
}

}  // namespace

bool is_stamped(const std::filesystem::path& file) {
  constexpr std::string_view mark = "gradrace-crc32:";
  constexpr std::uint64_t longest_end = 64;  // bytes, from the mark on
  if (!std::filesystem::is_regular_file(file)) return false;
  const std::uint64_t size = std::filesystem::file_size(file);
  const std::uint64_t begin = size - std::min(size, longest_end);
  std::ifstream stream(file, std::ios::binary);
  std::string end(size - begin, '\0');
  stream.seekg(static_cast<std::streamoff>(begin));
  stream.read(end.data(), static_cast<std::streamsize>(end.size()));
  const auto place = end.rfind(mark);
  if (place == std::string::npos) return false;
  const auto rest = std::string_view(end).substr(place + mark.size());
  const std::string checksum = checksum_of(stream, begin + place, file.filename());
  return rest.starts_with(checksum) && is_end(rest.substr(checksum.size()));
}

}  // namespace gradrace
