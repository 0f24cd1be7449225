#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/output/disk.h"

namespace gradrace {

/// Blocks of text on the disk, in a file that is made with the first of them and loses its name at
/// once, so that it ends with the process.  Safe from several threads.
class SpoolFile {
 public:
  static constexpr std::size_t block_size = 1 << 16;
  using Block = std::uint32_t;  // its number

  /// `path`: the name that the file has for an instant, and in errors.
  explicit SpoolFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// Of block_size characters.  DiskError, from read() too.
  Block write(std::string_view text);
  std::string read(Block block) const {
    return file_->text(std::uint64_t{block} * block_size, block_size);
  }
  /// Its place is another one's.
  void release(Block block);

 private:
  Block take();

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::unique_ptr<File> file_;
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

  /// The end, to be added to.  Once it is long it goes to the disk first: DiskError.
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
    for (const SpoolFile::Block block : blocks_) take(std::string_view(file_.read(block)));
    take(std::string_view(end_));
  }

 private:
  void spill();

  SpoolFile& file_;
  std::vector<SpoolFile::Block> blocks_;  // in order
  std::string end_;
};

}  // namespace gradrace
