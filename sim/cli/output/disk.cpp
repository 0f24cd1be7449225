#include "sim/cli/output/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <iterator>
#include <system_error>

#include "sim/cli/usage_error.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& file, const char* what, const std::error_code& error) {
  throw DiskError(file.string() + ": cannot be " + what + ": " + error.message());
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
  if (error) fail(place, "written", error);
}

void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error) fail(file, "removed", error);
}

}  // namespace gradrace
