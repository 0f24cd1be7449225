#include "sim/cli/output/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "sim/cli/output/disk.h"
#include "sim/cli/standard_streams.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr const char* unfinished = ".unfinished";
constexpr int tries = 100;  // of a folder that others make and remove

[[noreturn]] void fail(const fs::path& path, int error) {
  throw std::runtime_error(path.string() +
                           ": cannot be made: " + std::generic_category().message(error));
}

/// The folder itself, or the nearest one above it that is there.
fs::path nearest_there(const fs::path& folder) {
  std::error_code ignored;
  fs::path there = fs::absolute(folder, ignored).lexically_normal();
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  return there;
}

/// The user chose the place, unless the disk is full or fails.
[[noreturn]] void fail_to_begin(const fs::path& folder, const fs::path& aside, int error) {
  if (error != EACCES && error != EPERM && error != EROFS && error != ENOTDIR && error != ENOENT &&
      error != ENAMETOOLONG && error != ELOOP)
    fail(aside, error);
  const fs::path there = nearest_there(folder);
  const bool is_itself = fs::absolute(folder).lexically_normal() == there;
  throw std::runtime_error(folder.string() + ": no results can be written there" +
                           (is_itself ? "" : ", in " + there.string()) + ": " +
                           std::generic_category().message(error) +
                           "; use --out DIR for a folder that you may write to");
}

/// A dangling link, a file, or the name of the folder of unfinished results.
void refuse_reserved(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(folder, ignored)) && !fs::exists(folder, ignored))
    throw UsageError(folder.string() + ": is a link that leads nowhere; use another name");
  const fs::file_status status = fs::status(folder, ignored);
  if (fs::exists(status) && !fs::is_directory(status))
    throw UsageError(folder.string() + ": is a file; --out takes the name of a folder");
  const fs::path last = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  if (last == unfinished)
    throw UsageError(folder.string() + ": is where unfinished results are; use another name");
}

/// Process, host, time and command.
std::string own_word() {
  std::array<char, 256> host{}, time{};
  ::gethostname(host.data(), host.size() - 1);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(time.data(), time.size(), "%F %T UTC", ::gmtime_r(&now, &utc));
  std::string command;
  std::ifstream words("/proc/self/cmdline");
  for (std::string word; std::getline(words, word, '\0');) command += " " + word;
  return "process " + std::to_string(::getpid()) + " on " + host.data() + " since " + time.data() +
         ":" + command;
}

std::string word_in(int descriptor) {
  std::array<char, 1000> word{};
  const auto length = ::pread(descriptor, word.data(), word.size(), 0);
  return length > 0 ? std::string(word.data(), static_cast<std::size_t>(length)) : "";
}

/// The word of a shard that is being made.
std::string word_of_shard(const fs::path& aside) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(aside, ignored)) {
    if (!entry.path().filename().string().starts_with("lock-")) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    const bool is_held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0;
    const std::string word = word_in(descriptor);
    ::close(descriptor);
    if (is_held && !word.empty()) return word;
  }
  return "";
}

/// Of the process that has the lock, once it has told it.
std::string holder(int descriptor, const fs::path& aside) {
  for (int i = 0; i < tries; ++i) {
    std::string word = word_in(descriptor);
    if (word.empty()) word = word_of_shard(aside);
    if (!word.empty()) return word;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return "which does not tell its number";
}

/// Whether what is open has its name still.
bool is_there(int descriptor, const fs::path& path, int flags = AT_SYMLINK_NOFOLLOW) {
  struct stat open {
  }, there{};
  return ::fstat(descriptor, &open) == 0 && ::fstatat(AT_FDCWD, path.c_str(), &there, flags) == 0 &&
         open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

void leave_word(int descriptor) {
  const std::string word = own_word();
  // On a full disk the lock holds, and what is written next fails.
  [[maybe_unused]] const bool left =
      ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, word.data(), word.size(), 0) > 0;
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, const std::string& shard)
    : folder_(folder), aside_(folder / unfinished), whole_{aside_ / "lock", !shard.empty()} {
  refuse_reserved(folder);
  lock(whole_);
  try {
    if (!shard.empty()) lock(part_.emplace(File{aside_ / ("lock-" + shard)}));
    open_folders();
  } catch (...) {
    release(whole_);
    throw;
  }
}

FolderLock::~FolderLock() {
  const bool is_mine = is_there(folders_[0], folder_),
             is_aside_mine = is_there(folders_[1], aside_);
  for (const int folder : folders_) ::close(folder);
  if (part_) release(*part_);
  release(whole_);
  std::error_code ignored;
  if (is_aside_mine) fs::remove(aside_, ignored);
  if (made_ && is_mine) fs::remove(folder_, ignored);
}

void FolderLock::open_folders() {
  constexpr int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  folders_[0] = ::open(folder_.c_str(), flags);
  folders_[1] = folders_[0] < 0 ? -1 : ::openat(folders_[0], unfinished, flags | O_NOFOLLOW);
  if (folders_[1] < 0) fail(aside_, errno);
}

bool FolderLock::is_in_place() const {
  constexpr int follow = 0;  // a link that the user named
  return is_there(folders_[0], folder_, follow) && is_there(folders_[1], aside_);
}

void FolderLock::check_in_place() const {
  if (!is_in_place())
    throw DiskError(folder_.string() +
                    ": was replaced, or .unfinished in it, while this call wrote there; nothing "
                    "more is written");
}

void FolderLock::lock(File& file) {
  for (int i = 0; !try_to_lock(file); ++i) {
    if (i == tries) fail_to_begin(folder_, file.path, ENOENT);
  }
  if (!file.is_shared) leave_word(file.descriptor);
}

/// One that is shared stays for the others.
void FolderLock::release(File& file) const {
  std::error_code ignored;
  if (!file.is_shared && is_there(file.descriptor, file.path)) fs::remove(file.path, ignored);
  ::close(file.descriptor);
}

bool FolderLock::try_to_lock(File& file) {
  std::error_code error;
  made_ |= fs::create_directories(folder_, error);
  if (!error) fs::create_directory(aside_, error);
  if (error == std::errc::no_such_file_or_directory) return false;
  if (error) fail_to_begin(folder_, aside_, error.value());
  if (fs::is_symlink(aside_)) fail(aside_, EEXIST);
  file.descriptor = ::open(file.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file.descriptor < 0 && errno == ENOENT) return false;
  if (file.descriptor < 0) fail_to_begin(folder_, file.path, errno);
  const LockResult locked =
      gradrace::try_to_lock(file.descriptor, file.is_shared ? LOCK_SH : LOCK_EX, file.path);
  if (locked == LockResult::held_by_another) {
    const std::string other = holder(file.descriptor, aside_);
    ::close(file.descriptor);
    throw UsageError(folder_.string() + ": another call of gradrace writes there (" + other +
                     "); wait for its end, or use --out DIR for another folder");
  }
  if (locked == LockResult::no_locks) {
    tell_note(folder_.string() + ": this file system has no locks (" +
              std::generic_category().message(errno) +
              "); see to it that no other call writes there");
    return true;
  }
  if (is_there(file.descriptor, file.path)) return true;
  ::close(file.descriptor);
  return false;
}

}  // namespace gradrace
