#include "sim/cli/output/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/cli/output/disk.h"

namespace gradrace {

static std::uint64_t offset_of(SpoolFile::Block block) {
  return std::uint64_t{block} * SpoolFile::block_size;
}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

SpoolFile::Block SpoolFile::write(std::string_view text) {
  const Block block = take();
  if (move_all(::pwrite, descriptor_, text.data(), block_size, offset_of(block))) return block;
  const int error = errno;
  release(block);
  errno = error;
  fail("written");
}

void SpoolFile::read(Block block, char* text) const {
  if (!move_all(::pread, descriptor_, text, block_size, offset_of(block))) fail("read");
}

void SpoolFile::release(Block block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

SpoolFile::Block SpoolFile::take() {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor_ < 0 || ::unlink(path_.c_str()) != 0) fail("made");
  }
  if (free_.empty()) {
    free_.reserve(blocks_ + 1);  // so that release() cannot fail
    return blocks_++;
  }
  const Block block = free_.back();
  free_.pop_back();
  return block;
}

void SpoolFile::fail(const char* what) const {
  throw DiskError(path_.string() + ": cannot be " + what + ": " + std::strerror(errno));
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
