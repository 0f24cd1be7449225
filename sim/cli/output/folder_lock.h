#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gradrace {

/// Keeps other processes from an output folder, or from one shard of it, while it lives, and makes
/// the folder where it is not there.  What is locked is a file in <folder>/.unfinished, where
/// results are until they are whole; the kernel ends the lock with the process, and both are
/// removed at the end unless something else is in them.
class FolderLock {
 public:
  /// UsageError, with the process, its host and command, where another one has the folder or this
  /// shard of it.  On a file system without locks it says so, and goes on.  shard: "3-of-7"; empty:
  /// the whole folder.
  explicit FolderLock(const std::filesystem::path& folder, const std::string& shard = "");
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// <folder>/.unfinished
  const std::filesystem::path& aside() const { return aside_; }

  /// Whether the folder and what is aside are those that were locked.
  bool is_in_place() const;
  /// DiskError where they are not.
  void check_in_place() const;

 private:
  /// A file that is locked.
  struct File {
    std::filesystem::path path;
    bool is_shared = false;
    int descriptor = -1;
  };
  void lock(File& file);
  /// False where what was locked was removed by the process that had it before.
  bool try_to_lock(File& file);
  void release(File& file) const;
  void open_folders();

  const std::filesystem::path folder_, aside_;
  File whole_;                 // shared by shards
  std::optional<File> part_;   // of a shard
  bool made_ = false;          // the folder
  int folders_[2] = {-1, -1};  // open: the folder, and what is aside
};

}  // namespace gradrace
