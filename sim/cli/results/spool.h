#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cli/output/spool_file.h"

namespace gradrace {

/// The text of one run for one file of results, as it comes: its end is in memory, what comes
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
