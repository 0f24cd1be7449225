#include "models/datasets/packed_file.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gradrace {

[[noreturn]] static void defect(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": cannot be " + what);
}

/// zlib's message, which begins with the file's name.
static std::string without_name(std::string message, const std::filesystem::path& file) {
  const std::string name = file.string() + ": ";
  return message.starts_with(name) ? message.substr(name.size()) : message;
}

std::vector<std::uint8_t> read_packed(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(file, ignored)) defect(file, "read: it is a pipe, and not a file");
  if (std::filesystem::is_character_file(file, ignored))
    defect(file, "read: it is a device, and not a file");
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> handle(gzopen(file.c_str(), "rb"), gzclose);
  if (!handle) defect(file, "opened");
  const auto packed = std::filesystem::file_size(file, ignored);  // the greatest where unknown
  const auto piece = static_cast<unsigned>(std::clamp<std::uintmax_t>(packed, 1 << 12, 1 << 17));
  gzbuffer(handle.get(), piece);
  std::vector<std::uint8_t> content(8 * std::size_t{piece});
  std::size_t size = 0;
  while (true) {
    const auto room = static_cast<unsigned>(std::min<std::size_t>(content.size() - size, 1 << 30));
    const int got = gzread(handle.get(), content.data() + size, room);
    int status = Z_OK;
    const char* message = gzerror(handle.get(), &status);
    if (got < 0 || (status != Z_OK && status != Z_STREAM_END))
      defect(file, "read: " + (status == Z_ERRNO ? "I/O error" : without_name(message, file)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size == content.size()) content.resize(2 * size);
  }
  content.resize(size);
  return content;
}

}  // namespace gradrace
