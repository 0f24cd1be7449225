#include "sim/cli/output/spool.h"

#include <fcntl.h>

namespace gradrace {

SpoolFile::Block SpoolFile::write(std::string_view text) {
  const Block block = take();
  file_->write(std::uint64_t{block} * block_size, text);
  return block;
}

void SpoolFile::release(Block block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

SpoolFile::Block SpoolFile::take() {
  const std::lock_guard lock(mutex_);
  if (!file_) {
    auto file = std::make_unique<File>(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!file->is_open()) file->fail("made");
    remove_file(path_);
    file_ = std::move(file);
  }
  if (free_.empty()) {
    free_.reserve(blocks_ + 1);  // so that release() cannot fail
    return blocks_++;
  }
  const Block block = free_.back();
  free_.pop_back();
  return block;
}

void Spool::restart() {
  for (const SpoolFile::Block block : blocks_) file_.release(block);
  blocks_.clear();
  end_.clear();
}

void Spool::spill() {
  while (end_.size() >= SpoolFile::block_size) {
    blocks_.push_back(file_.write(std::string_view(end_).substr(0, SpoolFile::block_size)));
    end_.erase(0, SpoolFile::block_size);
  }
}

}  // namespace gradrace
