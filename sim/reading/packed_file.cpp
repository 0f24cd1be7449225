#include "sim/reading/packed_file.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <ios>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gradrace {

namespace fs = std::filesystem;

[[noreturn]] static void defect(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": cannot be " + what);
}

static Bytes read_all(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) defect(file, "read: it is a folder, and not a file");
  if (fs::is_fifo(file, ignored)) defect(file, "read: it is a pipe, and not a file");
  if (fs::is_character_file(file, ignored)) defect(file, "read: it is a device, and not a file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) defect(file, "opened");
  const std::uintmax_t size = fs::file_size(file, ignored);
  constexpr std::size_t piece = 1 << 16;  // beyond what the system says, as of files in /proc
  Bytes content;
  for (std::size_t wanted = ignored ? piece : size + 1; stream; wanted = piece) {
    const std::size_t before = content.size();
    content.resize(before + wanted);
    stream.read(reinterpret_cast<char*>(content.data() + before),
                static_cast<std::streamsize>(wanted));
    content.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) defect(file, "read: I/O error");
  return content;
}

/// Whether gzip's magic number is at this place.
static bool is_gzip(const Bytes& bytes, std::size_t at) {
  return bytes.size() - at >= 2 && bytes[at] == 0x1f && bytes[at + 1] == 0x8b;
}

/// By the last four bytes of what gzip packed: a guess, and a small one, since they may be
/// anything.
static std::size_t unpacked_size(const Bytes& packed) {
  constexpr std::size_t usual_ratio = 16, least = 1 << 12;
  std::size_t told = 0;
  if (packed.size() >= 4)
    for (std::size_t i = 1; i <= 4; ++i) told = told << 8 | packed[packed.size() - i];
  return std::clamp(told, least, std::max(least, usual_ratio * packed.size()));
}

Bytes first_inflated(std::span<const std::uint8_t> packed, int window_bits) {
  constexpr std::size_t wanted = 1 << 12;
  Bytes first(wanted);
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(packed.size(), 1 << 20));
  stream.next_out = first.data();
  stream.avail_out = static_cast<uInt>(first.size());
  inflate(&stream, Z_SYNC_FLUSH);
  first.resize(first.size() - stream.avail_out);
  inflateEnd(&stream);
  return first;
}

/// Part after part, as cat and gzip make them; what comes after the last is left out, as gzip does.
static Bytes unpacked(const fs::path& file, const Bytes& packed, std::size_t most,
                      const Bytes& first) {
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!decompressor) throw std::bad_alloc();
  Bytes content(std::min(most, unpacked_size(packed)));
  std::size_t done = 0;
  for (std::size_t at = 0, taken = 0, given = 0; at == 0 || is_gzip(packed, at);) {
    const libdeflate_result result =
        libdeflate_gzip_decompress_ex(decompressor.get(), packed.data() + at, packed.size() - at,
                                      content.data() + done, content.size() - done, &taken, &given);
    if (result == LIBDEFLATE_BAD_DATA) defect(file, "read: what gzip packed is cut or damaged");
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (content.size() == most) {
        std::ranges::copy(first, content.begin());  // the rest is not said to be right
        return content;
      }
      const std::size_t more = std::min(most, 2 * content.size());
      content.resize(done);  // what is copied
      content.resize(more);
    } else {
      at += taken, done += given;
    }
  }
  content.resize(done);
  return content;
}

std::size_t most_bytes_of_text(std::span<const std::uint8_t> first) {
  const bool is_text = std::ranges::find(first, 0) == first.end();
  return is_text ? std::numeric_limits<std::size_t>::max() : first.size();
}

Bytes read_packed(const fs::path& file, const MostBytes& most) {
  Bytes content = read_all(file);
  if (!is_gzip(content, 0)) return content;
  constexpr int of_gzip = 31;
  Bytes first = first_inflated(content, of_gzip);
  const std::size_t most_bytes = std::max(most(first), first.size());
  try {
    return unpacked(file, content, most_bytes, first);
  } catch (const std::bad_alloc&) {
    defect(file, "read: it unpacks to more than memory holds");
  }
}

}  // namespace gradrace
