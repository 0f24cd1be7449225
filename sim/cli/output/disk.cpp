#include "sim/cli/output/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
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
    if (moved == 0) errno = EIO;
    if (moved <= 0) return false;
    bytes += moved;
    place += static_cast<std::uint64_t>(moved);
    count -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

void fail_on_disk(const fs::path& path, const char* what) {
  throw DiskError(path.string() + ": cannot be " + what + ": " + std::strerror(errno));
}

File::File(fs::path path, int flags, unsigned mode)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, mode)) {}

File::~File() {
  if (is_open()) ::close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) fail("read");
  return static_cast<std::uint64_t>(facts.st_size);
}

void File::read(std::uint64_t place, char* bytes, std::size_t count) const {
  if (!move_all(::pread, descriptor_, bytes, count, place)) fail("read");
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
  if (!is_open() || ::fsync(descriptor_) != 0) fail("written");
}

File::Lock File::lock(int operation) const {
  int result = 0;
  do result = ::flock(descriptor_, operation | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return Lock::held;
  if (errno == EWOULDBLOCK) return Lock::held_by_another;
  if (errno == ENOLCK || errno == ENOSYS || errno == ENOTSUP || errno == EINVAL) return Lock::none;
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

void sync_file(const fs::path& file) { File(file, O_RDONLY).sync(); }

void sync_folder(const fs::path& folder) {
  const File open(folder, O_RDONLY);
  if (open.is_open() && ::fsync(open.descriptor()) == 0) return;
  if (errno == EACCES || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return;
  open.fail("written");
}

void refuse_link(const fs::path& file) {
  throw UsageError(file.string() +
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
  std::error_code error;
  fs::rename(file, place, error);
  check(error, place, "written");
}

void put_in_place(std::string_view text, const fs::path& aside, const fs::path& place) {
  std::ofstream file(aside, std::ios::binary);
  if (!(file << text << std::flush)) fail_on_disk(aside, "written");
  sync_file(aside);
  move_to_place(aside, place);
}

void copy_whole(const fs::path& file, const fs::path& copy) {
  std::error_code error;
  fs::copy_file(file, copy, error);
  check(error, copy, "written");
  sync_file(copy);
}

void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  check(error, file, "removed");
}

}  // namespace gradrace
