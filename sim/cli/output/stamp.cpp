#include "sim/cli/output/stamp.h"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "sim/cli/output/disk.h"

namespace gradrace {

namespace {

/// Of the bytes before a place in the file, and of its name.
std::string checksum_of(const File& file, std::uint64_t place) {
  constexpr std::uint64_t piece = 1 << 16;
  uLong checksum = 0;
  const auto add = [&](const std::string& bytes) {
    checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  for (std::uint64_t at = 0; at < place; at += piece)
    add(file.text(at, std::min(piece, place - at)));
  add(file.path().filename());
  char text[9];
  std::snprintf(text, sizeof text, "%08lx", checksum);
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

bool is_stamped(const std::filesystem::path& path) {
  constexpr std::string_view mark = "gradrace-crc32:";
  constexpr std::uint64_t longest_end = 64;  // bytes, from the mark on
  if (!std::filesystem::is_regular_file(path)) return false;
  const File file(path, O_RDONLY);
  if (!file.is_open()) return false;
  const std::uint64_t size = file.size();
  const std::uint64_t begin = size - std::min(size, longest_end);
  const std::string end = file.text(begin, size - begin);
  const auto place = end.rfind(mark);
  if (place == std::string::npos) return false;
  const auto rest = std::string_view(end).substr(place + mark.size());
  const std::string checksum = checksum_of(file, begin + place);
  return rest.starts_with(checksum) && is_end(rest.substr(checksum.size()));
}

}  // namespace gradrace
