#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

namespace gradrace {

/// Blocks of text on the disk, in a file that is made with the first of them and loses its name at
/// once, so that it ends with the process.  Safe from several threads.
class SpoolFile {
 public:
  static constexpr std::size_t block_size = 1 << 16;
  using Block = std::uint32_t;  // its number

  /// `path`: the name that the file has for an instant, and in errors.
  explicit SpoolFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  /// Of block_size characters.  std::runtime_error, from read() too, if the disk refuses.
  Block write(std::string_view text);
  void read(Block block, char* text) const;
  /// Its place is another one's.
  void release(Block block);

 private:
  Block take();
  [[noreturn]] void fail(const char* what) const;

  const std::filesystem::path path_;
  std::mutex mutex_;
  int descriptor_ = -1;
  Block blocks_ = 0;
  std::vector<Block> free_;
};

}  // namespace gradrace
