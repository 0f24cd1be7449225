#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
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

/// What one run has for one file of results, as it comes: its end is in memory, what comes
/// before that on the disk.
class Spool {
 public:
  /// The file must outlive it.
  explicit Spool(SpoolFile& file) : file_(file) {}
  ~Spool() { restart(); }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// The end, to be added to.  Once it is long it goes to the disk first: std::runtime_error if
  /// that refuses.
  std::string& end() {
    if (end_.size() >= SpoolFile::block_size) spill();
    return end_;
  }

  /// Nothing is there any more.
  void restart();

  std::uint64_t size() const { return blocks_.size() * SpoolFile::block_size + end_.size(); }

  /// Hands the text to take(std::string_view), piece by piece.
  template <class Take>
  void read(Take take) const {
    std::string piece(blocks_.empty() ? 0 : SpoolFile::block_size, '\0');
    for (const SpoolFile::Block block : blocks_) {
      file_.read(block, piece.data());
      take(std::string_view(piece));
    }
    take(std::string_view(end_));
  }

 private:
  void spill();

  SpoolFile& file_;
  std::vector<SpoolFile::Block> blocks_;  // in order
  std::string end_;
};

}  // namespace gradrace
