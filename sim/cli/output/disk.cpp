#include "sim/cli/output/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>

#include "sim/cli/usage_error.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

void check(const std::error_code& error, const fs::path& file, const char* what) {
  errno = error.value();
  if (error) fail_on_disk(file, what);
}

/// All bytes from or to a place of the file, by ::pread or ::pwrite; false: errno says why not.
template <class Move, class Bytes>
bool move_all(Move move, int descriptor, Bytes* bytes, std::size_t count, std::uint64_t place) {
  while (count > 0) {
    const ssize_t moved = move(descriptor, bytes, count, static_cast<off_t>(place));
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) errno = ENODATA;
    if (moved <= 0) return false;
    bytes += moved;
    place += static_cast<std::uint64_t>(moved);
    count -= static_cast<std::size_t>(moved);
  }
  return true;
}

/// What a call gives that no signal interrupts.
template <class Call>
int uninterrupted(Call call) {
  int result = 0;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

bool sync_descriptor(int descriptor) {
  return uninterrupted([&] { return ::fsync(descriptor); }) == 0;
}

/// Whether a file system lacks what was asked for.
bool is_not_there() { return errno == ENOTSUP || errno == ENOSYS || errno == EINVAL; }

/// Of folders that are open.
struct ShownFolders {
  std::mutex mutex;
  std::map<std::string, fs::path> names;  // [place]
};
ShownFolders& shown_folders() {
  static ShownFolders folders;
  return folders;
}

}  // namespace

fs::path shown(const fs::path& path) {
  ShownFolders& folders = shown_folders();
  const std::lock_guard lock(folders.mutex);
  for (fs::path place = path; place.has_relative_path(); place = place.parent_path()) {
    const auto found = folders.names.find(place);
    if (found == folders.names.end()) continue;
    return place == path ? found->second : found->second / path.lexically_relative(place);
  }
  return path;
}

void fail_on_disk(const fs::path& path, const char* what) {
  const int error = errno;
  throw DiskError(shown(path).string() + ": cannot be " + what + ": " + std::strerror(error));
}

File::File(fs::path path, int flags, unsigned mode)
    : path_(std::move(path)),
      descriptor_(uninterrupted([&] { return ::open(path_.c_str(), flags | O_CLOEXEC, mode); })) {}

File::~File() {
  if (is_open()) ::close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) fail("read");
  return static_cast<std::uint64_t>(facts.st_size);
}

std::uint64_t File::next_data(std::uint64_t place) const {
  const off_t found = ::lseek(descriptor_, static_cast<off_t>(place), SEEK_DATA);
  return found >= 0 ? static_cast<std::uint64_t>(found) : errno == ENXIO ? size() : place;
}

void File::read(std::uint64_t place, char* bytes, std::size_t count) const {
  if (move_all(::pread, descriptor_, bytes, count, place)) return;
  if (errno == ENODATA) throw DiskError(shown(path_).string() + ": ends too early: it was cut");
  fail("read");
}

std::string File::text(std::uint64_t place, std::size_t count) const {
  std::string text(count, '\0');
  read(place, text.data(), count);
  return text;
}

void File::write(std::uint64_t place, std::string_view bytes) {
  if (!move_all(::pwrite, descriptor_, bytes.data(), bytes.size(), place)) fail("written");
}

void File::cut(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("written");
}

void File::sync() {
  if (!is_open() || (!sync_descriptor(descriptor_) && !is_not_there())) fail("written");
}

File::Lock File::lock(int operation) const {
  if (uninterrupted([&] { return ::flock(descriptor_, operation | LOCK_NB); }) == 0)
    return Lock::held;
  if (errno == EWOULDBLOCK) return Lock::held_by_another;
  if (errno == ENOLCK || is_not_there()) return Lock::none;
  fail("locked");
}

bool File::is_in_place(bool follows) const {
  struct stat own {
  }, there{};
  const int flags = follows ? 0 : AT_SYMLINK_NOFOLLOW;
  return ::fstat(descriptor_, &own) == 0 &&
         ::fstatat(AT_FDCWD, path_.c_str(), &there, flags) == 0 && own.st_ino == there.st_ino &&
         own.st_dev == there.st_dev;
}

Folder::Folder(const fs::path& path, bool follows)
    : File(path, O_PATH | O_DIRECTORY | (follows ? 0 : O_NOFOLLOW)), place_(path) {
  if (!is_open()) return;
  // Of this process, for the programs, too, that it starts.
  const fs::path there =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor());
  std::error_code ignored;
  if (!fs::is_directory(there, ignored)) return;  // no such system
  place_ = there;
  fs::path name = shown(path);
  const std::lock_guard lock(shown_folders().mutex);
  shown_folders().names.insert_or_assign(place_, std::move(name));
}

Folder::~Folder() {
  const std::lock_guard lock(shown_folders().mutex);
  shown_folders().names.erase(place_);
}

void sync_file(const fs::path& file) { File(file, O_RDONLY).sync(); }

void sync_folder(const fs::path& folder) {
  const File open(folder, O_RDONLY);
  if (open.is_open() && sync_descriptor(open.descriptor())) return;
  if (errno == EACCES || is_not_there()) return;
  open.fail("written");
}

void refuse_link(const fs::path& file) {
  throw UsageError(shown(file).string() +
                   ": is a link, through which nothing is written; move it away, or give --out the "
                   "folder that it leads to");
}

fs::path free_name(const fs::path& file) {
  for (int number = 1;; ++number) {
    fs::path name = file;
    name += "." + std::to_string(number);
    if (!fs::exists(fs::symlink_status(name))) return name;
  }
}

std::ifstream opened_file(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  return std::ifstream(file, std::ios::binary);
}

std::string text_of_file(const fs::path& file) {
  std::ifstream stream = opened_file(file);
  if (!stream.is_open()) return {};
  return {std::istreambuf_iterator<char>(stream), {}};
}

void move_to_place(const fs::path& file, const fs::path& place) {
  if (uninterrupted([&] { return ::rename(file.c_str(), place.c_str()); }) != 0)
    fail_on_disk(place, "written");
}

void put_in_place(std::string_view text, const fs::path& aside, const fs::path& place) {
  std::ofstream file(aside, std::ios::binary);
  if (!(file << text << std::flush)) fail_on_disk(aside, "written");
  sync_file(aside);
  move_to_place(aside, place);
}

void copy_whole(const File& from, const fs::path& copy) {
  constexpr std::size_t piece = 1 << 16;
  File to(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!to.is_open()) to.fail("written");
  try {
    const std::uint64_t size = from.size();
    for (auto at = from.next_data(0); at < size; at = from.next_data(at + piece))
      to.write(at, from.text(at, std::min<std::uint64_t>(piece, size - at)));
    to.cut(size);
    to.sync();
  } catch (const DiskError&) {
    remove_file(copy);
    throw;
  }
}

void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  check(error, file, "removed");
}

}  // namespace gradrace
