#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/output/disk.h"

namespace gradrace {

/// Keeps other processes from an output folder, or from one shard of it, while it lives, and makes
/// the folder where it is not there.  What is locked is a file in <folder>/.unfinished, where
/// results are until they are whole; the kernel ends the lock with the process, and both are
/// removed at the end unless something else is in them.
class FolderLock {
 public:
  /// UsageError, with the process, its host and command, where another one has the folder, this
  /// shard of it, or any shard where the whole is wanted.  On a file system without locks it says
  /// so, and goes on.  shard: "3-of-7"; empty: the whole folder.
  explicit FolderLock(const std::filesystem::path& folder, const std::string& shard = "");
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The folder, and .unfinished in it, wherever their names have come to lead.
  const std::filesystem::path& place() const { return open_folder_->place(); }
  const std::filesystem::path& aside() const { return open_aside_->place(); }

  /// Whether the folder and what is aside are those that were locked.
  bool is_in_place() const;
  /// DiskError where they are not.
  void check_in_place() const;

 private:
  bool try_to_lock();
  bool open_folders();
  void refuse_parts();
  void release();

  const std::filesystem::path folder_;
  const std::string name_;  // of what is locked
  bool made_ = false;       // the folder
  std::unique_ptr<Folder> open_folder_, open_aside_;
  std::unique_ptr<File> lock_;
};

/// A signal that the caller handles came while a FilesLock waited, or while results were written
/// aside: what is published stays.
struct PublishingEnded {};

/// While it lives, no other run, collect, plot or report publishes results in these folders or
/// draws from them: waits for one that does, and says so; PublishingEnded.  The lock is on the
/// folder itself, so that nothing is written; on a file system without locks there is none.
class FilesLock {
 public:
  explicit FilesLock(const std::vector<std::filesystem::path>& folders);

 private:
  std::list<File> folders_;
};

}  // namespace gradrace
