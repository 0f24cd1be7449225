#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace gradrace {

/// How a file is compressed: not at all, or at a fixed level of a format.
enum class Compression { none, gzip, zstd };

/// What the names of such files end with: "", ".gz", ".zst".
std::string_view ending_of(Compression compression);

/// Compresses one text.
class StreamCompressor {
 public:
  virtual ~StreamCompressor() = default;
  /// Writes what is ready after the next part of the text; all of it after the last.
  virtual void write(std::string_view part, bool is_last, std::ostream& out) = 0;
};

/// Bytes of a text that is compressed.
std::size_t compressed_size(std::string_view text, Compression compression);

/// A file that is written from its start to its end.  Its bytes depend on the whole text alone: not
/// on the time, nor on the pieces that it comes in.
class CompressedFile {
 public:
  CompressedFile(std::filesystem::path path, Compression compression);

  const std::filesystem::path& path() const { return path_; }

  /// DiskError, here and below.
  void append(std::string_view text);
  void close();

 private:
  void check() const;

  const std::filesystem::path path_;
  std::ofstream stream_;
  std::unique_ptr<StreamCompressor> compressor_;  // null: none
  std::string waiting_;  // for the compressor, which gets parts of one size
};

}  // namespace gradrace
