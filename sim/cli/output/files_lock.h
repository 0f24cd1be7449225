#pragma once

#include <filesystem>
#include <vector>

namespace gradrace {

/// A signal that the caller handles came while a FilesLock waited.
struct WaitEnded {};

/// While it lives, no other run, collect, plot or report publishes results in these folders or
/// draws from them: waits for one that does, and says so; WaitEnded.  The lock is on the folder
/// itself, so that nothing is written; on a file system without locks there is none.
class FilesLock {
 public:
  explicit FilesLock(const std::vector<std::filesystem::path>& folders);
  ~FilesLock();
  FilesLock(const FilesLock&) = delete;
  FilesLock& operator=(const FilesLock&) = delete;

 private:
  std::vector<int> descriptors_;
};

}  // namespace gradrace
