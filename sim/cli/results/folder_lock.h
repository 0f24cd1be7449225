#pragma once

#include <filesystem>

namespace gradrace {

/// Keeps other processes from an output folder while it lives, and makes the folder where it is not
/// there.  What is locked is a file in <folder>/.unfinished, where results are until they are
/// whole; the kernel ends the lock with the process, and both are removed at the end unless
/// something else is in them.
class FolderLock {
 public:
  /// UsageError, with the process, its host and command, where another one has the folder.  On a
  /// file system without locks it says so, and goes on.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// <folder>/.unfinished
  const std::filesystem::path& aside() const { return aside_; }

 private:
  /// False where what was locked was removed by the process that had it before.
  bool try_to_lock();
  void leave_word() const;

  const std::filesystem::path folder_, aside_, file_;
  bool made_ = false;  // the folder
  int descriptor_ = -1;
};

}  // namespace gradrace
