#include "sim/cli/output/locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <set>
#include <system_error>
#include <thread>

#include "sim/cli/standard_streams.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr const char* unfinished = ".unfinished";
constexpr const char* lock_name = "lock";  // of the whole; of a shard "lock-3-of-7"
constexpr int tries = 100;                 // of a folder that others make and remove

/// The user chose the place, unless the disk is full or fails.
[[noreturn]] void fail_to_begin(const fs::path& folder, const fs::path& path) {
  constexpr std::array of_the_place{EACCES, EPERM, EROFS, ENOTDIR, ENOENT, ENAMETOOLONG, ELOOP};
  const int error = errno;
  if (std::ranges::find(of_the_place, error) == of_the_place.end()) fail_on_disk(path, "made");
  std::error_code ignored;
  const fs::path place = fs::absolute(folder, ignored).lexically_normal();
  fs::path there = place;
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  throw std::runtime_error(folder.string() + ": no results can be written there" +
                           (there == place ? "" : ", in " + there.string()) + ": " +
                           std::strerror(error) +
                           "; use --out DIR for a folder that you may write to");
}

/// A dangling link, a file, the name of the folder of unfinished results, or one with something
/// else of that name in it.
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
  const fs::path aside = folder / unfinished;
  const fs::file_status there = fs::symlink_status(aside, ignored);
  if (fs::exists(there) && !fs::is_directory(there))
    throw UsageError(aside.string() + ": is a " + (fs::is_symlink(there) ? "link" : "file") +
                     ", where unfinished results need a folder; move it away, or use --out DIR "
                     "for another folder");
}

/// Process, host, time and command.
std::string own_word() {
  std::array<char, 256> host{}, time{};
  ::gethostname(host.data(), host.size() - 1);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(time.data(), time.size(), "%F %T UTC", ::gmtime_r(&now, &utc));
  std::string command = text_of_file("/proc/self/cmdline");
  command.resize(command.find_last_not_of('\0') + 1);
  std::ranges::replace(command, '\0', ' ');
  return "process " + std::to_string(::getpid()) + " on " + host.data() + " since " + time.data() +
         ": " + command;
}

void leave_word(File& lock) {
  try {
    lock.cut(0);
    lock.write(0, own_word());
  } catch (const DiskError&) {
    // On a full disk the lock holds, and what is written next fails.
  }
}

/// With the word of the process that has the lock, once it has left that.
[[noreturn]] void refuse(const fs::path& folder, const fs::path& lock) {
  constexpr std::size_t longest_word = 1000;
  std::string word;
  for (int i = 0; word.empty() && i < tries; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    word = text_of_file(lock).substr(0, longest_word);
  }
  throw UsageError(folder.string() + ": another call of gradrace writes there (" +
                   (word.empty() ? "which does not tell its number" : word) +
                   "); wait for its end, or use --out DIR for another folder");
}

void wait_for(const File& folder) {
  const auto is_held_by_another = [&] {
    return folder.lock(LOCK_EX) == File::Lock::held_by_another;
  };
  if (!is_held_by_another()) return;
  tell_note(folder.path().string() + ": waits for another call that publishes or draws there");
  while (is_held_by_another())
    if (::usleep(20'000) != 0) throw PublishingEnded();
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, const std::string& shard)
    : folder_(folder), name_(lock_name + (shard.empty() ? "" : "-" + shard)) {
  refuse_reserved(folder);
  for (int i = 0; !try_to_lock(); ++i) {
    errno = ENOENT;
    if (i == tries) fail_to_begin(folder_, folder_ / unfinished / name_);
  }
  try {
    refuse_parts();
    check_in_place();
  } catch (...) {
    release();
    throw;
  }
}

FolderLock::~FolderLock() {
  const bool is_mine = open_folder_->is_in_place(), is_aside_mine = open_aside_->is_in_place();
  release();
  if (is_aside_mine) ::rmdir(open_aside_->path().c_str());  // if nothing else is in it
  if (made_ && is_mine) ::rmdir(folder_.c_str());
}

/// False where another process removed the folder, or what was locked, in the meantime.
bool FolderLock::try_to_lock() {
  if (open_folders())
    lock_ = std::make_unique<File>(aside() / name_, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (!lock_ || !lock_->is_open()) {
    if (errno == ENOENT) return false;
    fail_to_begin(folder_, folder_ / unfinished);
  }
  const File::Lock locked = lock_->lock(LOCK_EX);
  if (locked == File::Lock::held_by_another) refuse(folder_, lock_->path());
  if (locked == File::Lock::none)
    tell_note(folder_.string() + ": this file system has no locks (" + std::strerror(errno) +
              "); see to it that no other call writes there");
  if (!lock_->is_in_place()) return false;
  leave_word(*lock_);
  return true;
}

/// Makes them where they are not there; false: errno says why not.
bool FolderLock::open_folders() {
  constexpr bool follows = true;  // a link that the user named
  lock_.reset();
  std::error_code error;
  made_ |= fs::create_directories(folder_, error);
  errno = error.value();
  if (error) return false;
  open_folder_ = std::make_unique<Folder>(folder_, follows);
  if (!open_folder_->is_open()) return false;
  const fs::path aside = place() / unfinished;
  if (::mkdir(aside.c_str(), 0777) != 0 && errno != EEXIST) return false;
  open_aside_ = std::make_unique<Folder>(aside, !follows);
  return open_aside_->is_open();
}

/// The whole goes ill with each shard, and a shard with the whole.
void FolderLock::refuse_parts() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(aside(), ignored)) {
    const std::string name = entry.path().filename();
    const bool is_part = name_ == lock_name ? name.starts_with(lock_name) : name == lock_name;
    if (!is_part || name == name_) continue;
    const File other(entry.path(), O_RDONLY | O_NOFOLLOW);
    if (!other.is_open() && errno != ENOENT) fail_to_begin(folder_, other.path());
    if (!other.is_open() || other.lock(LOCK_SH) != File::Lock::held_by_another) continue;
    release();  // lest who begins meanwhile is refused for a call that is none
    refuse(folder_, other.path());
  }
}

void FolderLock::release() {
  if (!lock_) return;
  if (lock_->is_in_place()) ::unlink(lock_->path().c_str());
  lock_.reset();
}

bool FolderLock::is_in_place() const {
  constexpr bool follows = true;  // a link that the user named
  return open_folder_->is_in_place(follows) && open_aside_->is_in_place();
}

void FolderLock::check_in_place() const {
  if (!is_in_place())
    throw DiskError(folder_.string() +
                    ": was moved or replaced, or .unfinished in it, while this call wrote there; "
                    "nothing more is written, and finished runs are in the store of the folder "
                    "that was there");
}

FilesLock::FilesLock(const std::vector<fs::path>& folders) {
  std::set<fs::path> places;  // each once, and in one order for all calls
  std::error_code ignored;
  for (const auto& folder : folders) places.insert(fs::weakly_canonical(folder, ignored));
  for (const auto& place : places) {
    const File& open = folders_.emplace_back(place, O_RDONLY | O_DIRECTORY);
    if (open.is_open()) wait_for(open);
  }
}

}  // namespace gradrace
