#include "sim/cli/output/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <iterator>
#include <system_error>

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr int most_links = 40;  // one after the other, as the system follows them

[[noreturn]] void fail(const fs::path& file, const char* what, const std::error_code& error) {
  throw DiskError(file.string() + ": cannot be " + what + ": " + error.message());
}

/// Beside the place, on its file system.
fs::path copied(const fs::path& file, const fs::path& place, std::error_code& error) {
  const fs::path copy =
      place.parent_path() / ("." + place.filename().string() + "." + std::to_string(::getpid()));
  fs::copy_file(file, copy, error);
  if (!error && !sync_to_disk(copy)) error.assign(errno, std::generic_category());
  return copy;
}

}  // namespace

bool sync_to_disk(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return synced;
}

bool sync_folder(const fs::path& folder) {
  if (sync_to_disk(folder)) return true;
  return errno == EACCES || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
}

LockResult try_to_lock(int descriptor, int operation, const fs::path& file) {
  int result = 0;
  do result = ::flock(descriptor, operation | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return LockResult::held;
  if (errno == EWOULDBLOCK) return LockResult::held_by_another;
  if (errno == ENOLCK || errno == ENOSYS || errno == ENOTSUP || errno == EINVAL)
    return LockResult::no_locks;
  fail(file, "locked", std::error_code(errno, std::generic_category()));
}

fs::path free_name(const fs::path& file) {
  for (int number = 1;; ++number) {
    fs::path name = file;
    name += "." + std::to_string(number);
    if (!fs::exists(fs::symlink_status(name))) return name;
  }
}

fs::path followed(fs::path path) {
  std::error_code error;
  for (int i = 0; i < most_links && fs::is_symlink(fs::symlink_status(path, error)); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
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
  const fs::path target = followed(place);
  std::error_code error;
  fs::rename(file, target, error);
  if (error == std::errc::cross_device_link) {
    error.clear();
    const fs::path copy = copied(file, target, error);
    if (!error) fs::rename(copy, target, error);
    std::error_code ignored;
    fs::remove(error ? copy : file, ignored);
    if (!error && !sync_folder(target.parent_path())) error.assign(errno, std::generic_category());
  }
  if (error) fail(place, "written", error);
}

void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(followed(file), error);
  if (error) fail(file, "removed", error);
}

}  // namespace gradrace
