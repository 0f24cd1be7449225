#include "models/datasets/packed_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace gradrace {

[[noreturn]] static void defect(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": cannot be " + what);
}

/// zlib's message, which begins with the file's name.
static std::string without_name(std::string message, const std::filesystem::path& file) {
  const std::string name = file.string() + ": ";
  return message.starts_with(name) ? message.substr(name.size()) : message;
}

/// How much a file of `packed` bytes may be, by the last four of them if gzip packed it: a guess,
/// and a small one, since they may be anything.
static std::size_t unpacked_size(const std::filesystem::path& file, std::uintmax_t packed) {
  constexpr std::uintmax_t usual_ratio = 16;
  std::array<unsigned char, 4> end{};
  std::ifstream stream(file, std::ios::binary);
  const bool is_gzip = stream.get() == 0x1f && stream.get() == 0x8b;
  if (!is_gzip || !stream.seekg(-4, std::ios::end)) return packed;
  stream.read(reinterpret_cast<char*>(end.data()), end.size());
  const std::uintmax_t told =
      end[0] | end[1] << 8 | end[2] << 16 | static_cast<std::uintmax_t>(end[3]) << 24;
  return std::min(told, usual_ratio * packed);
}

Bytes read_packed(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(file, ignored)) defect(file, "read: it is a pipe, and not a file");
  if (std::filesystem::is_character_file(file, ignored))
    defect(file, "read: it is a device, and not a file");
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> handle(gzopen(file.c_str(), "rb"), gzclose);
  if (!handle) defect(file, "opened");
  gzbuffer(handle.get(), 1 << 17);
  std::vector<std::uint8_t> piece(1 << 18);
  Bytes content;
  const auto packed = std::filesystem::file_size(file, ignored);
  if (!ignored) content.reserve(unpacked_size(file, packed));
  while (true) {
    const int got = gzread(handle.get(), piece.data(), static_cast<unsigned>(piece.size()));
    int status = Z_OK;
    const char* message = gzerror(handle.get(), &status);
    if (got < 0 || (status != Z_OK && status != Z_STREAM_END))
      defect(file, "read: " + (status == Z_ERRNO ? "I/O error" : without_name(message, file)));
    if (got == 0) return content;
    content.insert(content.end(), piece.begin(), piece.begin() + got);
  }
}

}  // namespace gradrace
